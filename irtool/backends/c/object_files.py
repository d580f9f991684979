"""Object files, compiled while later sources are still being written."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from ..toolchain.compiler import Compiler
from ..toolchain.jobs import Jobs


class Objects:
    """The object files of some sources in a folder.

    The compiler of a source starts when it is added, in parallel with other sources and with the caller. As a context manager, it
    ends the running compilers.
    """

    def __init__(self, compiler: Compiler, folder: Path) -> None:
        self.compiler = compiler
        self.folder = folder
        self._commands: dict[str, list[str]] = {}
        self._jobs = Jobs(folder)
        self._is_there = compiler.is_there

    def __contains__(self, source: str) -> bool:
        """True for an added source."""
        return source in self._commands

    def add(self, source: str, content: bytes) -> None:
        """Writes a source and starts its compiler. `finish` reports errors."""
        (self.folder / source).write_bytes(content)
        command = self._commands[source] = self.compiler.object_command(source, _object_of(source))
        if self._is_there:
            self._jobs.start(command)

    def finish(self) -> dict[str, str]:
        """The object file of each source. Raises ToolError, with the compiler's message on the first source with an error, or for
        a missing compiler."""
        if not self._is_there:
            raise self.compiler.missing()
        try:
            outputs = self._jobs.results()
        except OSError as error:
            raise self.compiler.unrunnable(error) from None
        self.compiler.check(list(self._commands.values()), outputs, self.folder)
        return {source: _object_of(source) for source in self._commands}

    def __enter__(self) -> Objects:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jobs.__exit__(kind, error, trace)


def _object_of(source: str) -> str:
    return f"{Path(source).stem}.unit.o"
