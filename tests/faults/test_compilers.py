"""C compilers that are missing, crash, say nothing, lie, or never end; and commands that are told to end meanwhile."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from tests.command_line import irtool
from tests.faults import processes
from tests.faults.processes import MLP, Done, check, contents, environment

pytestmark = [pytest.mark.promise("faults"), pytest.mark.robustness("faults")]

PROBE = 'case "$*" in *-dumpmachine*|*-dM*) exec cc "$@";; esac\n'
COMPILERS = {
    "silent": ("exit 0", 4, "returned 0, but it has not written"),
    "silent when it links": ('case "$*" in *-shared*) exit 0;; esac; exec cc "$@"', 4, "it has not written mlp.so"),
    "writes nothing into the file": ('while [ "$1" != -o ]; do shift; done; : > "$2"', 4, "it has not written"),
    "lies": ('while [ "$1" != -o ]; do shift; done; echo lie > "$2"', 0, ""),
    "fails": ("exit 1", 4, "the C compiler failed: exit code 1"),
    "fails with words": ("echo such a thing >&2; exit 3", 4, "the C compiler failed: such a thing"),
    "is no text": (r"printf '\377\376\000' >&2; exit 1", 4, "the C compiler failed: "),
    "says very much": ("yes no | head -c 3000000 >&2; exit 1", 4, "the C compiler failed: no"),
    "crashes": ("kill -SEGV $$", 4, "it was ended by SIGSEGV"),
    "is killed": ("kill -KILL $$", 4, "it was ended by SIGKILL"),
    "reads its input": ('cat; exec cc "$@"', 0, ""),
    "removes its folder": ('rm -rf "$PWD"; exit 1', 4, "the C compiler failed"),
}


def compiler(folder: Path, text: str) -> Path:
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{PROBE}{text}\n")
    path.chmod(0o755)
    return path


def at_home(home: Path, monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Done:
    """A command in this process, in a folder with a cache and temporary files of its own."""
    (home / "tmp").mkdir(exist_ok=True)
    monkeypatch.chdir(home)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setattr(tempfile, "tempdir", str(home / "tmp"))
    done = Done(*irtool(*arguments))
    check(done)
    return done


@pytest.mark.parametrize("kind", COMPILERS)
def test_what_a_compiler_does_is_said_and_the_sources_stay(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, code, message = COMPILERS[kind]
    (tmp_path / "tmp").mkdir()
    path = compiler(tmp_path, text)
    done = at_home(tmp_path, monkeypatch, "build", MLP, "--cc", path, "-o", "out")
    assert done.code == code, done.err
    if code:
        assert message in done.err and "sources are kept in out" in done.err
        assert (tmp_path / "out" / "mlp.h").exists() and not (tmp_path / "out" / "mlp.so").exists()
        assert len(done.err) < 10_000
    assert not list((tmp_path / "tmp").iterdir())
    assert not list(tmp_path.glob(".cache/irtool/builds/*")) or code == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [("none", "was not found"), ("folder", "was not found"), ("text", "could not be run"), ("", "")],
)
def test_compilers_that_are_none(name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_bytes(b"\x00\x01\x02")
    (tmp_path / "text").chmod(0o755)
    command = f"./{name}" if name else "   "
    done = at_home(tmp_path, monkeypatch, "build", MLP, "--cc", command, "-o", "out")
    assert (done.code, message in done.err) == (4 if name else 0, True), done.err


def test_a_library_that_is_none_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", str(compiler(tmp_path, COMPILERS["lies"][0])))
    done = at_home(tmp_path, monkeypatch, "run", "--via=c", MLP)
    assert done.code == 4 and "the compiled library could not be loaded" in done.err


PATIENCE = 120
"""Seconds for what takes a second where nothing else runs."""
WAITING: dict[str, list[object]] = {
    "reading": ["opt", "-"],
    "asking the compiler": ["build", MLP, "-o", "out", "--cc", "./asked"],
    "compiling": ["build", MLP, "-o", "out", "--cc", "./compiler"],
    "running": ["run", "endless.relay"],
}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("stage", WAITING)
def test_a_command_that_is_told_to_end_leaves_nothing(stage: str, name: str, tmp_path: Path) -> None:
    """Only irtool is told, not its children, which must end as well."""
    compiler(tmp_path, "echo $$ > running; exec sleep 60".replace("running", str(tmp_path / "running")))
    (tmp_path / "asked").write_text(f"#!/bin/sh\necho $$ > {tmp_path}/running; exec sleep 60\n")
    (tmp_path / "asked").chmod(0o755)
    (tmp_path / "endless.relay").write_text(
        '#[version = "0.0.5"]\ndef @main() -> int32 { @turn(0) }\ndef @turn(%i: int32) -> int32 { @turn(add(%i, 0)) }\n'
    )
    (tmp_path / "tmp").mkdir()
    number = getattr(signal, name)
    process = started(WAITING[stage], tmp_path, number)
    called = tmp_path / "running"
    wait_for(lambda: listens(process.pid) and (stage in ("reading", "running") or called.exists()))
    time.sleep(0.3 if stage == "running" else 0)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    check(Done(process.returncode, out, err))
    assert process.returncode == 128 + number and err in ("", "interrupted\n")
    assert not (tmp_path / "out").exists() and not list((tmp_path / "tmp").iterdir())
    if called.exists():
        child = int(called.read_text() or 0)
        wait_for(lambda: not child or not alive(child))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_build_is_told_to_end_at_any_moment(name: str, tmp_path: Path) -> None:
    """While modules are imported, while threads start, between two steps: the exit code is the same, and nothing is left."""
    (tmp_path / "tmp").mkdir()
    number = getattr(signal, name)
    codes = set()
    outputs: list[dict[str, bytes | str]] = []
    for moment in range(12):
        process = started(["build", MLP, "-o", "out"], tmp_path, number)
        wait_for(partial(listens, process.pid))
        time.sleep(0.06 * moment)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        check(Done(process.returncode, out, err))
        assert process.returncode in (0, 128 + number) and (process.returncode == 0 or err in ("", "interrupted\n"))
        assert not list((tmp_path / "tmp").iterdir())
        if (tmp_path / "out").exists():  # just before the signal came
            outputs.append(contents(tmp_path / "out"))
            shutil.rmtree(tmp_path / "out")
        codes.add(process.returncode)
    assert 128 + number in codes and all(f == outputs[0] for f in outputs)


LATE = """
import os, signal, time, weakref

def tell(*_):
    os.kill(os.getpid(), signal.{name})
    time.sleep(0.01)

class Owner:
    pass
"""
PLACES = {
    "a callback": "owner = Owner()\ncaller = weakref.ref(owner, tell)\ndel owner\ntime.sleep(60)\n",
    "the end of an object": "Owner.__del__ = tell\nOwner()\ntime.sleep(60)\n",
    "the name of a field": "Owner.__set_name__ = tell\nclass User:\n    field = Owner()\n",
}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("place", PLACES)
def test_a_signal_comes_where_python_drops_or_wraps_exceptions(place: str, name: str, tmp_path: Path) -> None:
    plugin = tmp_path / "late.py"
    plugin.write_text(LATE.format(name=name) + PLACES[place])
    done = processes.irtool("check", MLP, "--load", plugin, cwd=tmp_path)
    assert done.code == 128 + getattr(signal, name) and done.err in ("", "interrupted\n")


WHILE_FILES_TAKE_THEIR_PLACES = """
import os, signal, threading, time

threading.Thread(target=time.sleep, args=(60,), daemon=True).start()  # which blocks no signal, as threads of NumPy
replace = os.replace

def tell(source, target):
    replace(source, target)
    if "/out/" in target:
        os.kill(os.getpid(), signal.{name})
        time.sleep(0.01)

os.replace = tell
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_comes_while_files_take_their_places(name: str, tmp_path: Path) -> None:
    """All of them do, or none, though another thread may be given the signal."""
    plugin = tmp_path / "late.py"
    plugin.write_text(WHILE_FILES_TAKE_THEIR_PLACES.format(name=name))
    done = processes.irtool("build", MLP, "--emit", "c", "-o", tmp_path / "out", "--load", plugin, cwd=tmp_path)
    assert done.code == 128 + getattr(signal, name) and done.err in ("", "interrupted\n")
    assert sorted(contents(tmp_path / "out")) == ["mlp.c", "mlp.h"]


LAST = """
import atexit, os, signal, threading, time

threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
from irtool.cli import main

class Owner:
    def __del__(self, kill=os.kill, number=signal.{name}, pid=os.getpid()):
        kill(pid, number)

os.left = Owner()  # goes with its module, after all handlers
main(["check", {path!r}])
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_comes_to_a_thread_when_all_is_done(name: str, tmp_path: Path) -> None:
    code = LAST.format(name=name, path=str(MLP))
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 file, no errors\n", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_comes_when_all_is_done(name: str, tmp_path: Path) -> None:
    """While Python takes itself down: the command has ended, and well."""
    code = f"import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.{name}); "
    code += f"from irtool.cli import main; main(['check', {str(MLP)!r}])"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1 file, no errors\n", "")


def test_an_error_that_is_its_own_cause_ends_the_command(tmp_path: Path) -> None:
    plugin = tmp_path / "own.py"
    plugin.write_text(
        "from irtool.diagnostics import UsageError\n\nerror = UsageError('mine')\nraise error from error\n"
    )
    done = processes.irtool("check", MLP, "--load", plugin, cwd=tmp_path)
    assert done.code == 1 and "mine" in done.err


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_that_is_ignored_at_the_start_stays_ignored(name: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    process = subprocess.Popen(
        [sys.executable, "-m", "irtool", "check", "-"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: ignore_alone(number),
    )
    wait_for(lambda: listens(process.pid))
    process.send_signal(number)
    out, _ = process.communicate(MLP.read_text(), timeout=PATIENCE)
    assert (process.returncode, out) == (0, "1 file, no errors\n")


def ignore_alone(number: int) -> None:
    """Ignores a signal, as nohup does, and `&` in a script; the others that end a command are not ignored, wherever tests run."""
    for other in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(other, signal.SIG_DFL)
    signal.signal(number, signal.SIG_IGN)


def started(arguments: Sequence[object], home: Path, number: int) -> subprocess.Popen[str]:
    """irtool in a process of its own, which a signal ends even where this process ignores it."""
    return subprocess.Popen(
        [sys.executable, "-m", "irtool", *[str(a) for a in arguments]],
        cwd=home,
        env=environment(home, TMPDIR=str(home / "tmp")),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )


def listens(pid: int) -> bool:
    """True once the process has handlers of its own for what tells it to end."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught & (1 << signal.SIGTERM - 1 | 1 << signal.SIGHUP - 1))


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(holds: Callable[[], bool]) -> None:
    """Looks for two minutes: on a machine with much else to do, Python alone may take half of one to start."""
    for _ in range(4800):
        if holds():
            return
        time.sleep(0.025)
    raise AssertionError("it did not happen")
