"""Command lines that run side by side, and end with whoever asked for them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType

from ...files import is_told_to_end, uninterrupted

_OFTEN = 0.05
"""Seconds between looks at whether the command is to end."""


class Jobs:
    """Processes, as many at once as there are processors.

    Each is a group of its own, so that an interrupt of the terminal comes to irtool alone, which then ends the whole group:
    of a compiler, also what that has called. Where a folder is given, they run in it, and make their temporary files there.
    As a context manager, it ends what is still running. Processes are started by threads, which no signal interrupts.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False

    def run(self, commands: Sequence[Sequence[str]]) -> list[subprocess.CompletedProcess[str]]:
        """What each command said and returned, in order. Raises OSError where one cannot be started."""
        # Nothing may be raised in this thread while it holds the locks of the pool, or other threads would wait for ever.
        with uninterrupted():
            pool = ThreadPoolExecutor(os.cpu_count() or 1)
            try:
                waiting = [pool.submit(self._run, c) for c in commands]
                while wait(waiting, timeout=_OFTEN).not_done and not is_told_to_end():
                    pass
                if is_told_to_end():
                    self.end()
            except BaseException:
                self.end()
                raise
            finally:
                pool.shutdown(cancel_futures=True)
        return [w.result() for w in waiting]

    def _run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        with self._lock:
            if self._ended:
                raise InterruptedError
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, "TMPDIR": str(self.folder)} if self.folder is not None else None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                process_group=0 if os.name == "posix" else None,
            )
            self._running.add(process)
        try:
            out, err = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def end(self) -> None:
        """Ends what is running, and starts nothing any more."""
        with self._lock:
            self._ended = True
            for process in self._running:
                try:
                    if os.name == "posix":
                        os.killpg(process.pid, signal.SIGKILL)
                    else:
                        process.kill()
                except OSError:
                    pass  # it has just ended by itself

    def __enter__(self) -> Jobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
