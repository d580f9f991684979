"""irtool in a process of its own, under faults: what every command promises then is checked here, whatever the fault."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MLP = ROOT / "samples" / "mlp.relay"
EXIT_CODES = {0, 1, 2, 4, 129, 130, 143}
"""All that a command may return; 3 is a bug."""

_NEVER = ("Traceback", "a bug in irtool", "Exception ignored")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a command that has a home and a cache of its own."""
    inherited = {
        k: v for k, v in os.environ.items() if k not in ("CC", "CFLAGS", "XDG_CACHE_HOME", "IRTOOL_CACHE_LIMIT")
    }
    return {**inherited, "HOME": str(home), "PYTHONPATH": str(ROOT), **more}


def irtool(
    *arguments: object, cwd: Path, redirect: str = "", shell: str = "", stdin: str = "", **more: str | None
) -> Done:
    """Runs a command in a folder, which is its home as well, and checks what holds for every command.

    `redirect` is what a shell does to its streams, `shell` what it runs before, such as `ulimit -f 8;`; `more` are variables
    of the environment, None for those that are not set.
    """
    command = [sys.executable, "-m", "irtool", *map(str, arguments)]
    variables: Mapping[str, str] = {k: v for k, v in {**environment(cwd), **more}.items() if v is not None}
    done = subprocess.run(
        ["sh", "-c", f'{shell} exec "$@" {redirect}', "sh", *command],
        input=stdin,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=variables,
        timeout=120,
        preexec_fn=_usual_signals,
        check=False,
    )
    outcome = Done(done.returncode, done.stdout, done.stderr)
    check(outcome)
    return outcome


def check(outcome: Done) -> None:
    """Asserts what holds for every way of ending."""
    assert outcome.code in EXIT_CODES, (outcome.code, outcome.err)
    for message in _NEVER:
        assert message not in outcome.err, outcome.err


def _usual_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def contents(folder: Path) -> dict[str, bytes | str]:
    """All that is in a folder, however deep: of files the bytes, of links where they lead."""
    return {
        str(p.relative_to(folder)): os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else "other"
        for p in sorted(folder.rglob("*"))
        if not p.is_dir() or p.is_symlink()
    }
