"""Object files, compiled while later sources are still being written."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from ..toolchain.compiler import Compiler
from ..toolchain.jobs import Jobs
from .object_cache import ObjectCache


class Objects:
    """The object files of some sources in a folder.

    The compiler of a source starts when it is added, in parallel with other sources and with the caller. As a context manager, it
    ends the running compilers.

    Args:
        object_cache: a folder with object files; those of equal sources are copied from there, and no compiler starts.
    """

    def __init__(self, compiler: Compiler, folder: Path, object_cache: Path | None = None) -> None:
        self.compiler = compiler
        self.folder = folder
        self._cache = ObjectCache(object_cache, compiler.identity) if object_cache is not None else None
        self._keys: dict[str, str] = {}
        self._sources: list[str] = []
        self._commands: dict[str, list[str]] = {}
        """The commands of the sources that are compiled."""
        self._jobs = Jobs(folder)
        self._is_there = compiler.is_there

    def __contains__(self, source: str) -> bool:
        """True for an added source."""
        return source in self._sources

    def add(self, source: str, content: bytes) -> None:
        """Writes a source and starts its compiler, unless the cache has its object file. `finish` reports errors."""
        (self.folder / source).write_bytes(content)
        self._sources.append(source)
        command = self.compiler.object_command(source, _object_of(source))
        if self._cache is not None:
            headers = sorted(self.folder.glob("*.h")) if b'#include "' in content else []
            key = self._cache.key(command, content, *(f.read_bytes() for f in headers))
            if self._cache.copy(key, self.folder / _object_of(source)):
                return
            self._keys[source] = key
        self._commands[source] = command
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
        if self._cache is not None:
            for source, key in self._keys.items():
                self._cache.store(key, self.folder / _object_of(source))
            if self._keys:
                self._cache.shrink()
        return {source: _object_of(source) for source in self._sources}

    def __enter__(self) -> Objects:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._jobs.__exit__(kind, error, trace)


def _object_of(source: str) -> str:
    return f"{Path(source).stem}.unit.o"
