"""Faults at every command, found by walking the click tree: bad files, bad values, lost output, full disks, Ctrl-C.

The lines are those of `tests/commands/invocations.py`, which has every option; a fault takes the place of one value.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from irtool import cli
from irtool.commands import param_types
from irtool.commands.streams import Output, finish
from irtool.plugin.loading import plugins_kept
from tests.commands.invocations import FAILING, LINES, write_files
from tests.commands.options import commands, words_of
from tests.faults.lines import Place, each_command, each_place
from tests.faults.processes import Done, check, contents

pytestmark = [pytest.mark.promise("faults"), pytest.mark.robustness("faults")]

PLACES = each_place()
READ = [p for p in PLACES if isinstance(p.parameter.type, param_types.Path) and p.parameter.type.reads]
WRITTEN = [p for p in PLACES if isinstance(p.parameter.type, param_types.Path) and p.parameter.type.writes]
CHOSEN = [
    p
    for p in PLACES
    if isinstance(p.parameter.type, click.Choice | click.types.IntParamType | click.types.FloatParamType)
]
OTHER = [p for p in PLACES if p not in (*READ, *WRITTEN, *CHOSEN)]
COMMANDS = each_command()


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of the lines, and all that the lines write, where everybody may read."""
    with tempfile.TemporaryDirectory() as name, plugins_kept(), pytest.MonkeyPatch.context() as monkeypatch:
        os.chmod(name, 0o755)
        monkeypatch.chdir(name)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        monkeypatch.delenv("CC", raising=False)
        place = Path(name)
        write_files(place)
        for words in (["bench", "net.relay", "--params=w.npz", "--time=0.001", "--rounds=1", "--no-interp", "--json=record.json"],
                      ["tune", "net.relay", "--trials=1", "--each=0.001", "-o", "tuned.json"],
                      ["convert", "net.relay", "w.npz", "-o", "with.relay"]):  # fmt: skip
            assert run(words).code == 0
        yield place


@pytest.fixture(autouse=True)
def tidy(folder: Path) -> Iterator[Callable[[], None]]:
    """Removes what has been added since the test began; at its end, too."""
    before = set(folder.rglob("*"))

    def remove() -> None:
        for path in sorted(set(folder.rglob("*")) - before, reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    yield remove
    remove()


def run(words: list[str], out: io.TextIOBase | None = None, hook: Interrupt | None = None) -> Done:
    """Runs a command in this process, as `main` does, and checks what holds for every way of ending."""
    errors, printed = io.StringIO(), out or io.StringIO()
    with contextlib.redirect_stdout(Output(printed)), contextlib.redirect_stderr(errors):  # type: ignore[type-var]  # what stands for a stream
        try:
            with watched(hook):
                code = cli.run(words)
        except KeyboardInterrupt:  # as `main` does where there is no command any more
            code = 130
        code = finish(code)
    done = Done(code, printed.getvalue() if isinstance(printed, io.StringIO) else "", errors.getvalue())
    check(done)
    return done


def test_every_command_and_every_file_of_a_command_is_here() -> None:
    names = set(commands()) - {""}
    assert set(COMMANDS) | {"lsp"} == names and {line.split()[0] for line in FAILING} == names
    files = {(n, p.name) for n, c in commands().items() for p in c.params if isinstance(p.type, param_types.Path)}
    assert files == {(p.name, p.parameter.name) for p in (*READ, *WRITTEN)}


BAD = {
    "missing": lambda path: None,
    "a folder": Path.mkdir,
    "empty": Path.touch,
    "junk": lambda path: path.write_bytes(bytes(range(256)) * 4),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("place", READ, ids=str)
def test_files_that_cannot_be_read(place: Place, kind: str, folder: Path) -> None:
    path = folder / "given"
    BAD[kind](path)
    before = contents(folder)
    try:
        done = run(place.with_value("given"))
        remaining = {n: d for n, d in contents(folder).items() if n in before}
        added = sorted(set(contents(folder)) - set(before))
    finally:
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
    empty_plugin = place.parameter.opts == ["--load"] and kind == "empty"
    if empty_plugin or (str(place), kind) in FINE or (str(place) == "run --labels" and kind == "empty"):
        lacks_its_pass = empty_plugin and "unknown pass" in done.err
        assert done.code in ((2,) if lacks_its_pass else (0, 1)), (done, place.words)
    else:
        assert done.code in (1, 2) and re.search("error|FAIL", done.err + done.out), (done, place.words)
    if done.code != 0:
        assert remaining == before and not added, (added, done)


FINE = {("tune -o", "missing"), ("test paths", "a folder")}
"""What is right as it is."""


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Root writes everywhere; here it is another user for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("where", ["none/x", "file/x", "closed/x", "full"])
@pytest.mark.parametrize("place", WRITTEN, ids=str)
def test_places_that_cannot_be_written(place: Place, where: str, folder: Path) -> None:
    is_folder = isinstance(place.parameter.type, param_types.Path) and place.parameter.type.is_folder
    if where == "none/x" and is_folder:
        pytest.skip("folders are made")
    ending = os.path.splitext(place.words[place.at])[1]
    (folder / "file").touch()
    (folder / "closed").mkdir(exist_ok=True)
    (folder / "closed").chmod(0o555)
    value = where + ending
    if where == "full":
        value = f"full{ending}"
        (folder / value).symlink_to("/dev/full")
    before = contents(folder)
    try:
        with nobody() if where == "closed/x" else contextlib.nullcontext():
            done = run(place.with_value(value))
        assert done.code in (1, 2) and "error" in done.err, done
        after = contents(folder)
        if place.name == "run" or (where, place.name) in {
            ("full", "build"),
            ("full", "opt"),
        }:  # each by itself; a device last
            assert all(after[n] for n in after.keys() - before.keys())
        else:
            assert after == before
    finally:
        if where == "full":
            (folder / value).unlink()


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """No file can get a byte."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("place", WRITTEN, ids=str)
def test_a_full_disk(place: Place, folder: Path) -> None:
    """What was there stays, and nothing half-written appears."""
    words = place.with_value("brand.new" + os.path.splitext(place.words[place.at])[1])
    before = contents(folder)
    with full_disk():
        done = run(words)
    assert done.code in (1, 4) and "error" in done.err, done
    assert contents(folder) == before


@pytest.mark.parametrize("place", CHOSEN, ids=str)
def test_values_of_another_kind(place: Place) -> None:
    for value in ("nowhere", ""):
        done = run(place.with_value(value))
        assert done.code == 2 and "error[E0014]" in done.err, (value, done)


@pytest.mark.parametrize("place", OTHER, ids=str)
def test_values_that_nobody_expects(place: Place, folder: Path) -> None:
    """Some options take any text; what is refused is refused in a sentence."""
    before = contents(folder)
    for value in ("nö such", "{", "'", "=", "-1", "99999999999999999999"):
        done = run(place.with_value(value))
        assert done.code == 0 or "error" in done.err + done.out or done.code == 1, (value, done)
    after = contents(folder)
    assert after.keys() >= before.keys()
    assert not [n for n in after if not after[n] and before.get(n, b"?")], "nothing is half-written"


@pytest.mark.parametrize("name", [n for n in commands() if n])
def test_an_unknown_option(name: str) -> None:
    done = run([name, "--no-such-option"])
    assert done.code == 2 and "error[E0012]: there is no option --no-such-option" in done.err


class Lost(io.TextIOBase):
    """A stream that takes nothing."""

    def __init__(self, number: int) -> None:
        self.number = number

    def write(self, text: str) -> int:
        raise OSError(self.number, os.strerror(self.number))  # of the subclass that the number has

    def flush(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


PRINTING = {**{f"{n} -h": [n, "-h"] for n in commands() if n}, **COMMANDS}


@pytest.mark.parametrize("line", PRINTING)
def test_a_reader_that_went_away(line: str) -> None:
    done = run(PRINTING[line], Lost(errno.EPIPE))
    assert done.code == 0 and "error" not in done.err, done


@pytest.mark.parametrize("line", PRINTING)
def test_output_on_a_full_disk(line: str) -> None:
    done = run(PRINTING[line], Lost(errno.ENOSPC))
    assert done.code == 1 and done.err.endswith("cannot write to standard output: No space left on device\n"), done
    assert done.err.count("error") == 1


class Interrupt:
    """Sends this process an interrupt when so many calls of Python functions have begun."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.calls = 0

    def __call__(self, frame: object, event: str, argument: object) -> None:
        self.calls += event == "call"
        if self.calls == self.after:
            self.after = -1
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def watched(hook: Interrupt | None) -> Iterator[None]:
    if hook is None:
        yield
        return
    usual = signal.signal(signal.SIGINT, cli._interrupt)
    sys.setprofile(hook)
    try:
        yield
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, usual)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_control_c(name: str, folder: Path, tidy: Callable[[], None]) -> None:
    """Wherever it comes: exit code 130, and every file is as before, or as a run to the end leaves it."""
    lines = [line for line, code, _ in LINES if code == 0 and words_of(line)[0] == name]
    words = COMMANDS[name] if name != "build" else lines[2].split()
    assert run(words).code == 0
    tidy()
    counted = Interrupt(-1)
    assert run(words, hook=counted).code == 0
    done_with = contents(folder)
    for part in (0.1, 0.4, 0.7, 0.95):
        tidy()
        done = run(words, hook=Interrupt(max(1, int(counted.calls * part))))
        after = contents(folder)
        if done.code == 0:  # another thread had its calls in the count, or Python dropped it in a destructor
            continue
        assert done.code == 130 and done.err.rstrip().endswith("interrupted"), (part, done)
        assert after.keys() <= done_with.keys(), sorted(set(after) - set(done_with))
        assert not [n for n, d in after.items() if not d and done_with[n]]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_is_no_expected_output(folder: Path) -> None:
    """Of a command that must fail, an interrupted one looks as if it did."""
    golden = folder / "golden" / "fails.relay"
    golden.write_text("// RUN: not irtool opt -p NoSuchPass %s\n" + (folder / "net.relay").read_text())
    words = ["test", "golden/fails.relay", "--update"]
    try:
        counted = Interrupt(-1)
        assert run(words, hook=counted).code == 0
        golden.with_name("fails.relay.expected").unlink()
        for part in range(1, 20):
            done = run(words, hook=Interrupt(counted.calls * part // 20))
            if done.code == 0:  # Python drops what is raised in a destructor, where `main` would try again
                golden.with_name("fails.relay.expected").unlink()
                continue
            assert done.code == 130 and not golden.with_name("fails.relay.expected").exists(), (part, done)
    finally:
        golden.unlink()
        golden.with_name("fails.relay.expected").unlink(missing_ok=True)


@pytest.mark.parametrize("place", [p for p in WRITTEN if not p.parameter.type.is_folder], ids=str)  # type: ignore[attr-defined]  # of a path
def test_pipes_are_written_to_and_stay(place: Place, folder: Path) -> None:
    """As devices: root may replace those by files, and then nobody has them any more."""
    if place.name == "tune" or str(place) == "opt --reproducer":
        pytest.skip("tables are read first; nothing is reproduced here")
    pipe = folder / ("pipe" + os.path.splitext(place.words[place.at])[1])
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        run(place.with_value(pipe.name))
        assert pipe.is_fifo() and os.read(reader, 10)
    finally:
        os.close(reader)
        pipe.unlink()
