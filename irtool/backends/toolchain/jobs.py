"""Commands that run in parallel, and are killed with the process that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType

from ...signals import is_told_to_end, uninterrupted
from ...steps import Recorder, current_recorder, say_step

_OFTEN = 0.05
"""Seconds between checks for the end of a command."""


class Jobs:
    """Processes, as many at once as there are processors.

    Each has a process group of its own, so that an interrupt of the terminal reaches irtool alone, which then ends the entire
    group: that of a compiler includes the programs that it calls. With a folder, commands run in it, and make their temporary
    files there. As a context manager, it ends processes that are still running. Threads start the processes, so that no signal
    interrupts a start.

    One processor is left to the caller until it waits for the results.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._ended = False
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: list[Future[subprocess.CompletedProcess[str]]] = []
        self._count = os.cpu_count() or 1
        self._free = threading.Semaphore(max(1, self._count - 1))

    def start(self, command: Sequence[str]) -> None:
        """Runs a command as soon as a processor is free."""
        # Nothing may be raised in this thread while it holds the locks of the pool, or other threads would wait for ever.
        with uninterrupted():
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._count)
            self._waiting.append(self._pool.submit(self._run, command, current_recorder()))

    def results(self) -> list[subprocess.CompletedProcess[str]]:
        """The output and exit code of each command, in the order of their starts. Raises OSError if one cannot be started."""
        with uninterrupted():
            if self._count > 1:
                self._free.release()
            try:
                while (left := wait(self._waiting, timeout=_OFTEN).not_done) and not is_told_to_end():
                    if len(self._waiting) > 1:
                        say_step("compilations", len(self._waiting) - len(left), len(self._waiting))
                if is_told_to_end():
                    self.end()
            except BaseException:
                self.end()
                raise
            finally:
                self._shut()
        return [w.result() for w in self._waiting]

    def run(self, commands: Sequence[Sequence[str]]) -> list[subprocess.CompletedProcess[str]]:
        """The output and exit code of each command, in order. Raises OSError if one cannot be started."""
        for c in commands:
            self.start(c)
        return self.results()

    def _shut(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _run(self, command: Sequence[str], recorder: Recorder | None) -> subprocess.CompletedProcess[str]:
        with self._free:
            begin = time.perf_counter()
            answer = self._run_now(command)
        if recorder is not None:
            sources = [w for w in command[1:] if w.endswith((".c", ".ll", ".cpp"))]
            recorder("compiler", " ".join([os.path.basename(command[0]), *sources]), begin, time.perf_counter())
        return answer

    def _run_now(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
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
        """Ends the running processes, and starts no others."""
        with self._lock:
            self._ended = True
            for process in self._running:
                try:
                    if os.name == "posix":
                        os.killpg(process.pid, signal.SIGKILL)
                    else:
                        process.kill()
                except OSError:
                    pass  # the process has just ended by itself

    def __enter__(self) -> Jobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with uninterrupted():
            self.end()
            self._shut()
