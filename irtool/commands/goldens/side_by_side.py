"""Golden files in several processes at a time; results come in the order of the files."""

from __future__ import annotations

import contextlib
import pickle
import queue
import signal
import subprocess
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from ...isolation import python_command
from ...plugin.loading import loaded_files
from .outcome import FAILED, Outcome
from .worker import Result, Task, perform

_PROGRAM = "from irtool.commands.goldens.worker import serve; serve()"


def perform_all(tasks: Sequence[Task], jobs: int) -> Generator[Result]:
    """Performs tasks in up to so many processes, or in this one; results come in their order, each as soon as all before it are there."""
    jobs = min(jobs, len(tasks))
    if jobs <= 1:
        yield from map(perform, tasks)
        return
    workers: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
    started = [_Worker() for _ in range(jobs)]
    for worker in started:
        workers.put(worker)

    def hand_on(task: Task) -> Result:
        worker = workers.get()
        try:
            return worker.perform(task)
        finally:
            workers.put(worker)

    # Each thread waits for one process; a process that ends lets its thread end.
    threads = ThreadPoolExecutor(jobs)
    results: list[Future[Result]] = [threads.submit(hand_on, task) for task in tasks]
    try:
        for result in results:
            yield result.result()
    finally:
        for result in results:
            result.cancel()
        for worker in started:
            worker.end()
        threads.shutdown()


class _Worker:
    """A process that performs tasks; another one takes its place where it breaks down."""

    def __init__(self) -> None:
        self.is_ended = False
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(python_command(_PROGRAM), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # reading its first result tells
            pickle.dump(loaded_files(), process.stdin)
        return process

    def perform(self, task: Task) -> Result:
        """Hands a task to the process and waits for its result."""
        process = self.process
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            message = f"the process that ran it {_end(process)}"
            if not self.is_ended:
                self.process = self._start()
            return Result((Outcome(task.path, FAILED, message),), 0.0)

    def end(self) -> None:
        """Ends the process, in the middle of a task if there is one."""
        self.is_ended = True
        self.process.terminate()
        with contextlib.suppress(BrokenPipeError, OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _end(process: subprocess.Popen[bytes]) -> str:
    """The end of a process, in words."""
    code = process.wait()
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
