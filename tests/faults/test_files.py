"""Inputs that are no files, and places that nothing can be written to."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.command_line import irtool
from tests.faults.processes import MLP, Done, check, contents
from tests.faults.processes import irtool as process

pytestmark = [pytest.mark.promise("faults"), pytest.mark.robustness("faults")]

READERS = {
    "opt": ["opt"],
    "check": ["check"],
    "run": ["run"],
    "info": ["info"],
    "viz": ["viz"],
    "build": ["build", "--emit=c", "-o", "out"],
    "diff": ["diff", MLP],
    "--params": ["opt", MLP, "--params"],
    "--inputs": ["run", MLP, "--inputs"],
    "build --params": ["build", MLP, "--emit=c", "-o", "out", "--params"],
}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def bound(path: Path) -> None:
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.relpath(path))  # the system takes short names only
    listening.close()


KINDS = {
    "a pipe": (pipe, "it is a pipe, not a file"),
    "a socket": (bound, ""),
    "a folder": (Path.mkdir, "Is a directory"),
    "an endless device": (lambda p: p.symlink_to("/dev/zero"), "it is a device, not a file"),
    "links in a circle": (lambda p: p.symlink_to(p.name), "Too many levels of symbolic links"),
    "a link to nothing": (lambda p: p.symlink_to("nothing"), "No such file"),
    "no bytes": (Path.touch, "empty"),
    "zeros": (lambda p: p.write_bytes(bytes(4096)), ""),
    "all bytes": (lambda p: p.write_bytes(bytes(range(256)) * 16), ""),
    "a name with a zero": (None, ""),
}


MESSAGES = {("--inputs", "a folder"): "the directory has no input_0.pb"}
"""Messages of readers that take more kinds: `--inputs` reads folders with the test data of ONNX models."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_no_file_is_refused_at_once(
    reader: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, message = KINDS[kind]
    message = MESSAGES.get((reader, kind), message)
    if make is not None:
        make(Path("given"))
    done = Done(*irtool(*READERS[reader], "given" if make is not None else "a\0b"))
    check(done)
    assert done.code == (2 if reader == "diff" else 1) and "error" in done.err + done.out and message in done.err, done
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("names.txt", "cannot read names.txt: it is a pipe, not a file"),
        ("case.relay", "no file with a `// RUN:` line in case.relay"),
        ("case.relay.expected", "it is a pipe, not a file"),
    ],
)
def test_a_pipe_is_not_waited_for(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("case.relay").write_text(f"// RUN: irtool check %s\n{CONSTANT}")
    Path(name).unlink(missing_ok=True)
    os.mkfifo(name)
    code, out, err = irtool(*(["run", MLP, "--top=1", "--labels", name] if "names" in name else ["test", "case.relay"]))
    assert code == 1 and message in out + err


def test_a_pipe_can_be_read_as_standard_input(tmp_path: Path) -> None:
    done = process("opt", "given", cwd=tmp_path, shell="mkfifo given;")
    assert done.code == 1 and "help: read it as standard input: - < given" in done.err
    text = MLP.read_text()
    assert process("check", "/dev/stdin", cwd=tmp_path, stdin=text).out == "1 file, no errors\n"
    assert process("check", "/dev/fd/3", cwd=tmp_path, stdin=text, shell="exec 3<&0;").out == "1 file, no errors\n"


WRITERS = {
    "opt -o": (["opt", MLP, "-o"], ""),
    "run -o": (["run", MLP, "-o"], ""),
    "build --report": (["build", "--emit=c", MLP, "-o", "out", "--report"], ""),
    "build --graph": (["build", "--emit=c", MLP, "-o", "out", "--graph"], ""),
    "build -o": (["build", "--emit=c", MLP, "--name", "net", "-o"], "net.c"),
    "opt --dump-dir": (["opt", "-p", "FuseOps", MLP, "--dump-dir"], "00.input.relay"),
    "opt --constants=external": (["opt", MLP, "--constants=external", "-o"], ""),
}
"""Commands that end in the name of what they write; where that is a folder, a file in it."""
CONSTANT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) { add(%x, arange(0f, 4f, 1f, start=0f, stop=4f, step=1f, dtype="float32")) }
"""
CHOSEN = {
    "build -o": (["build", "--emit=c", MLP, "--name", "net", "-o", "place"], ["net.c", "net.h", "net.irtool.json"]),
    "build to a library": (["build", MLP, "--name", "net", "-o", "place", "--cflags=-O0"], ["net.so", "net.h"]),
    "build, default folder": (["build", "--emit=c", "place.relay", "--name", "net"], ["net.c", "net.h"]),
    "build to LLVM IR": (["build", "--target=llvm", "--emit=ll", MLP, "--name", "net", "-o", "place"], ["net.ll"]),
    "build files": (
        ["build", "--emit=c", MLP, "--name", "net", "--target=c{build_file=make}", "-o", "place"],
        ["net.mk"],
    ),
    "opt --dump-dir": (["opt", "-p", "FuseOps", MLP, "--dump-dir", "place"], ["00.input.relay", "01.FuseOps.relay"]),
    "opt --constants=external": (
        ["opt", "-p", "FoldConstant", "place.relay", "--constants=external", "-o", "place/x.relay"],
        ["x.relay.npz"],
    ),
    "run --dump-values": (["run", MLP, "--dump-values", "place"], ["0000.nn.matmul.npy", "0001.add.npy"]),
    "test --update": (["test", "--update", "place"], ["case.relay.expected"]),
}
"""Commands that write files under names that irtool chooses, and some of these."""


@pytest.mark.parametrize("kind", ["a file", "nothing", "a folder", "a pipe", "itself"])
@pytest.mark.parametrize("writer", CHOSEN)
def test_links_under_chosen_names_are_replaced(
    writer: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that came from elsewhere has links under these names; what they lead to stays as it is."""
    monkeypatch.chdir(tmp_path)
    arguments, names = CHOSEN[writer]
    place = tmp_path / ("net.out" if "default" in writer else "place")
    place.mkdir()
    (tmp_path / "place.relay").write_text(CONSTANT)
    (place / "case.relay").write_text("// RUN: irtool opt %s\n" + CONSTANT)
    victim = tmp_path / "victim"
    {
        "a file": lambda: victim.write_text("precious"),
        "a folder": lambda: (victim.mkdir(), (victim / "kept").write_text("precious")),
        "a pipe": lambda: os.mkfifo(victim),
    }.get(kind, lambda: None)()
    for name in names:
        (place / name).symlink_to(name if kind == "itself" else "../victim")
    before = contents(tmp_path).get("victim"), contents(victim) if victim.is_dir() else {}
    code, _, err = irtool(*arguments)
    assert code == 0 or "test" in writer, err  # expected output that cannot be read is no output
    assert before == (contents(tmp_path).get("victim"), contents(victim) if victim.is_dir() else {})
    written = [name for name in names if (place / name).is_file() and not (place / name).is_symlink()]
    assert written or code, sorted(place.iterdir())
    others = set(names) - set(written)
    assert all((place / name).is_symlink() for name in others)


def test_the_folder_itself_may_be_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "place").symlink_to("elsewhere")
    assert irtool("build", "--emit=c", MLP, "--name", "net", "-o", "place")[0] == 0
    assert (tmp_path / "place").is_symlink() and (tmp_path / "elsewhere" / "net.c").is_file()


def test_texts_behind_links_in_a_folder_are_not_formatted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "place").mkdir()
    ugly = '#[version = "0.0.5"]\ndef @main(%x:   int32) { %x }\n'
    (tmp_path / "victim.relay").write_text(ugly)
    (tmp_path / "place" / "own.relay").write_text(ugly)
    (tmp_path / "place" / "link.relay").symlink_to("../victim.relay")
    assert irtool("fmt", "place")[0] == 0
    assert (tmp_path / "victim.relay").read_text() == ugly != (tmp_path / "place" / "own.relay").read_text()


@pytest.mark.parametrize("writer", [w for w in WRITERS if not WRITERS[w][1]])
def test_links_are_written_through(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arguments, inside = WRITERS[writer]
    target = tmp_path / "place" / inside if inside else tmp_path / "place"
    elsewhere = tmp_path / "elsewhere" / "kept"
    elsewhere.parent.mkdir()
    target.parent.mkdir(exist_ok=True)
    for before in ("old", None):  # a link to a file, and one to nothing
        target.unlink(missing_ok=True)
        elsewhere.unlink(missing_ok=True)
        if before is not None:
            elsewhere.write_text(before)
            elsewhere.chmod(0o640)
        target.symlink_to(Path("..") / "elsewhere" / "kept" if inside else Path("elsewhere") / "kept")
        code, _, err = irtool(*arguments, "place")
        assert code == 0, err
        assert target.is_symlink() and elsewhere.stat().st_size > 3
        assert [p.name for p in elsewhere.parent.iterdir()] == ["kept"]
        if before is not None:
            assert elsewhere.stat().st_mode & 0o777 == 0o640
    target.unlink()
    target.symlink_to(target.name)
    code, _, err = irtool(*arguments, "place")
    assert code == 1 and "Too many levels of symbolic links" in err and target.is_symlink()


@pytest.mark.parametrize("place", ["none/x", "file/x", "/proc/x", "folder", "/dev/full"])
@pytest.mark.parametrize("writer", ["opt -o", "run -o", "build --report", "build --graph"])
def test_places_that_cannot_be_written(
    writer: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("old")
    Path("folder").mkdir()
    before = contents(tmp_path)
    done = Done(*irtool(*WRITERS[writer][0], place))
    check(done)
    assert done.code == 1 and "cannot write" in done.err, done
    if place != "/dev/full":  # a device is written last, when the files are there
        assert contents(tmp_path) == before and not Path("out").exists()


@pytest.mark.parametrize("writer", ["opt -o", "run -o", "build --report", "build -o"])
def test_a_folder_that_is_read_only(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        pytest.skip("root writes everywhere")
    monkeypatch.chdir(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir()
    (closed / "place").write_text("old")
    closed.chmod(0o555)
    done = Done(*irtool(*WRITERS[writer][0], "closed/new" if writer == "build -o" else "closed/place"))
    closed.chmod(0o755)
    check(done)
    assert done.code == 1 and "Permission denied" in done.err
    assert contents(closed) == {"place": b"old"}


@pytest.mark.parametrize("blocks", [0, 1, 8])
@pytest.mark.parametrize(
    "arguments", [["opt", MLP, "-o", "old"], ["build", MLP, "-o", "out"], ["run", MLP, "-o", "old"]]
)
def test_a_full_disk_leaves_what_was_there(arguments: list[object], blocks: int, tmp_path: Path) -> None:
    """As large as files may become: nothing, too little for a library, too little for an array."""
    (tmp_path / "old").write_text("old")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mlp.c").write_text("old")
    (tmp_path / "tmp").mkdir()
    done = process(*arguments, cwd=tmp_path, shell=f"ulimit -f {blocks};", TMPDIR=str(tmp_path / "tmp"))
    if done.code == 0:  # it is as small as that
        assert blocks and arguments[0] != "build"
        return
    assert done.code in (1, 4) and "error" in done.err
    assert (tmp_path / "old").read_text() == (tmp_path / "out" / "mlp.c").read_text() == "old" or done.code == 4
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("variables", [{"HOME": None}, {"TMPDIR": "/none"}, {"TMPDIR": None, "HOME": "/none"}])
def test_homes_and_folders_that_are_not_there(variables: dict[str, str | None], tmp_path: Path) -> None:
    done = process("build", "--emit=c", MLP, "-o", "out", cwd=tmp_path, **variables)
    assert done.code == 0, done.err
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["mlp.c", "mlp.h"]


def test_the_temporary_folder_is_named_where_it_has_no_room(tmp_path: Path) -> None:
    done = process("build", MLP, "--no-cache", "-o", "out", cwd=tmp_path, shell="ulimit -f 1;")
    assert done.code == 1 and "error: cannot write to " in done.err and "irtool-" in done.err and "TMPDIR" in done.err
