"""A timing program: its files, the commands that compile them, and the command to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import ToolError
from ..files import temporary_folder

_SHOWN = 4000
_MOST_BYTES = 1 << 26
_MOST_COPIES = 32


@dataclass(frozen=True)
class TimingConditions:
    """The conditions of a kernel's timing.

    Attributes:
        seconds: the time for which it runs, again and again.
        cold: numbers of the inputs that a network has in memory rather than in a cache: its weights.
        weights: bytes of all weights of the network, which pass through the caches between two uses of one.
    """

    seconds: float = 0.1
    cold: tuple[int, ...] = ()
    weights: int = 0

    def copies(self, nbytes: int) -> int:
        """The number of copies of a cold input that take turns: as many as fit in the bytes of all weights, at most 64 MB and 32
        copies."""
        return max(1, min(_MOST_COPIES, min(self.weights, _MOST_BYTES) // max(1, nbytes)))


@dataclass(frozen=True)
class TimingJob:
    """The files and commands with which another process, or another machine, measures a kernel. All of it can be pickled.

    Attributes:
        files: contents by name.
        commands: the commands that compile, in the folder of the files, in order.
        program: the compiled file, which prints the seconds of one run of the kernel, the best of several.
    """

    files: Mapping[str, bytes]
    commands: Sequence[Sequence[str]]
    program: str

    def run(self, runner: Sequence[str] = (), patience: float = 60) -> float:
        """Seconds of one run. `runner`: words before the program, such as an emulator or a command that runs it on a device.

        Raises ToolError if a command fails, the program prints no number, or one of them takes longer than `patience`.
        """
        with self.compiled(patience) as once:
            return once(runner)

    @contextmanager
    def compiled(self, patience: float = 60) -> Iterator[Callable[[Sequence[str]], float]]:
        """Context with the compiled program, as a function from a runner to the seconds of one run. Raises as `run`."""
        with temporary_folder() as work:
            folder = Path(work)
            for name, content in self.files.items():
                (folder / name).write_bytes(content)
            for command in self.commands:
                _output_of(command, folder, patience)

            def once(runner: Sequence[str]) -> float:
                output = _output_of([*runner, str(folder / self.program)], folder, patience)
                try:
                    return float(output)
                except ValueError:
                    message = f"the measuring program printed {output[:80]!r}, which is no number of seconds"
                    raise ToolError(message) from None

            yield once


def _output_of(command: Sequence[str], folder: Path, patience: float) -> str:
    import shlex
    import subprocess

    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=patience, check=False
        )
    except OSError as error:
        raise ToolError(f"{command[0]} could not be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise ToolError(f"{command[0]} was not done after {patience:g} s") from None
    if done.returncode != 0:
        message = (done.stderr.strip() or done.stdout.strip())[:_SHOWN] or f"exit code {done.returncode}"
        raise ToolError(f"{command[0]} failed: {message}", notes=(shlex.join(command),))
    return done.stdout.strip()
