"""A process that is stopped except in its turn, so that its waiting threads take no time from others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class PausedProcess:
    """A module of Python in a process of its own, which answers lines of standard input by lines of JSON.

    It is stopped (SIGSTOP) but while it answers. Its first answer comes by itself. Other lines, such as those that engines print, are
    skipped; the log is the file `log` in the folder. `python` runs it.

    Attributes:
        about: the first answer; None if there was none.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str],
        folder: Path,
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        self._log = (folder / "log").open("w+")
        self._process = subprocess.Popen(
            [python, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore", **(environment or {})},
        )
        self.about = self._answer_and_stop()

    def ask(self, line: str) -> Any:
        """The answer to a line; None if the process has ended."""
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._answer_and_stop()

    def end(self) -> Any:
        """Ends the process; its last answer, None if there was none."""
        assert self._process.stdin is not None
        self._signal(signal.SIGCONT)
        self._process.stdin.close()
        answer = self._answer()
        self._process.wait()
        self._log.close()
        return answer

    def failure(self) -> str:
        """The last line of the log of a process that has ended; its exit code without one."""
        self._log.seek(0)
        lines = self._log.read().strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.wait()}"

    def _answer_and_stop(self) -> Any:
        answer = self._answer()
        if answer is not None:  # otherwise it is ending, which it could not while it is stopped
            self._signal(signal.SIGSTOP)
        return answer

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                return json.loads(line)
            except ValueError:
                continue
        return None

    def _signal(self, which: int) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, which)
