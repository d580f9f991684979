"""Plug-ins from outside: named files, and modules that installed distributions declare.

Every command and the Python API come through here. An installed distribution declares modules as entry points of the group
`irtool.plugins`; they are imported once, when a name is asked for that irtool does not know, or when names are listed. A
module that cannot be imported is no error of who does not need it: a warning says which distribution it is of.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..diagnostics import IrError, UsageError
from ..signals import Stopped
from .mistakes import PluginError
from .origin import file_of, outside_frame, shown
from .registry import Registry

GROUP = "irtool.plugins"
"""The group of entry points."""


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=4)


warn: Callable[[str], None] = _warn
"""Called with a message about an installed plug-in that cannot be loaded."""

_files: dict[str, str] = {}
"""Modules of the files that were loaded, by path."""
_installed: list[str] = []
"""Modules that installed distributions declare, imported or not."""
_state = threading.local()
_done = False


def load_plugins(*paths: str | os.PathLike[str]) -> None:
    """Runs Python files, which may register operators, passes and instruments.

    While a file runs, its folder is where Python looks for modules first; later it is where it looks last. A file that is
    loaded again defines its plug-ins anew. One that fails leaves none behind.

    Raises:
        UsageError: there is no such file.
        PluginError: the file cannot be run, or registers something that is wrong.
    """
    for path in (os.fspath(p) for p in paths):
        if not os.path.isfile(path):
            raise UsageError(f"cannot load {path}: no such file")
        _load_file(path)


def _load_file(path: str) -> None:
    import hashlib
    from importlib.util import module_from_spec, spec_from_file_location

    full = os.path.abspath(path)
    folder, stem = os.path.dirname(full), re.sub(r"\W", "_", os.path.basename(full).partition(".")[0])
    name = f"irtool_loaded_{stem}_{hashlib.sha256(full.encode()).hexdigest()[:8]}"

    spec = spec_from_file_location(name, full, loader=_fresh_loader(name, full))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    before = [(registry, registry.outside()) for registry in Registry.every]
    former = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look annotations up there
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        if former is None:
            del sys.modules[name]
        else:
            sys.modules[name] = former
        for registry, classes in before:
            registry.restore(classes)
        raise _failure(path, full, error) from error
    finally:
        sys.path.remove(folder)
    if folder not in sys.path:
        sys.path.append(folder)
    _files[full] = name


def _fresh_loader(name: str, path: str) -> Any:
    """Compiles the file as it is now. Bytecode beside it would be taken for that of a file changed within the same second, and the
    folder is not irtool's."""
    from importlib.machinery import SourceFileLoader

    class Fresh(SourceFileLoader):
        def get_code(self, fullname: str) -> Any:
            return self.source_to_code(self.get_data(self.path), self.path)

    return Fresh(name, path)


def _failure(path: str, full: str, error: BaseException) -> BaseException:
    """The exception to raise for an error in a file: mistakes are the file's, with the innermost place in it."""
    if not isinstance(error, Exception):
        ends = isinstance(error, SystemExit) and not isinstance(error, Stopped)
        return PluginError(f"cannot load {path}: it ends with {error!r}") if ends else error
    if isinstance(error, IrError):
        first = error.diagnostics[0]
        return error if isinstance(error, PluginError) else PluginError(f"cannot load {path}: {first}", help=first.help)
    place = _place(error, full)
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    return PluginError(f"cannot load {place or path}: {type(error).__name__}{': ' + message if message else ''}")


def _place(error: Exception, *files: str) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{shown(error.filename)}:{error.lineno}"
    frame = outside_frame(error.__traceback__, files)
    return f"{shown(frame[0])}:{frame[1]}" if frame else ""


def loaded_files() -> list[str]:
    """The files that were loaded, by their full paths, in order."""
    return list(_files)


LEFT_OUT = "IRTOOL_NO_PLUGINS"
"""The environment variable that, where it is set, keeps installed plug-ins from being imported."""


def load_installed() -> None:
    """Imports the modules that installed distributions declare, once, unless `LEFT_OUT` is set; warns of those that fail."""
    global _done
    if _done or getattr(_state, "busy", False) or os.environ.get(LEFT_OUT):
        return
    if not _may_be_declared():
        _done = True
        return
    _state.busy = True
    try:
        from importlib.metadata import entry_points

        for point in sorted(entry_points(group=GROUP), key=lambda p: (p.name, p.value)):
            if point.module not in _installed:
                _installed.append(point.module)
                _load_point(point)
        _done = True
    finally:
        _state.busy = False


def _may_be_declared() -> bool:
    """False if no installed distribution declares a plug-in.

    Files of entry points without the name of the group tell that, in a fifth of the time that `importlib.metadata` takes to be imported
    and to parse them. True for distributions that are no folders on the search path.
    """
    from importlib.machinery import PathFinder

    if any(hasattr(finder, "find_distributions") and finder is not PathFinder for finder in sys.meta_path):
        return True
    group = GROUP.encode()
    for path in sys.path:
        if path.endswith(".egg") or os.path.isfile(path):
            return True
        with contextlib.suppress(OSError):
            for name in os.listdir(path or "."):
                if name.lower().endswith((".dist-info", ".egg-info")) and group in _entry_points_of(path, name):
                    return True
    return False


def _entry_points_of(path: str, name: str) -> bytes:
    """The entry points of a distribution in a folder, as their file has them; nothing for one without such a file."""
    try:
        with open(os.path.join(path, name, "entry_points.txt"), "rb") as file:
            return file.read()
    except OSError:
        return b""


def _load_point(point: Any) -> None:
    before = [(registry, registry.outside()) for registry in Registry.every]
    Registry.may_override = False
    try:
        point.load()
    except Exception as error:  # noqa: BLE001 - an error of a plug-in must not affect users who do not need it
        for registry, classes in before:
            registry.restore(classes)
        place = _place(error) if not isinstance(error, IrError) else ""
        message = error.diagnostics[0].message if isinstance(error, IrError) else f"{type(error).__name__}: {error}"
        of = f" of {point.dist.name} {point.dist.version}" if point.dist is not None else ""
        warn(f"the plug-in {point.name}{of} cannot be loaded: {place + ': ' if place else ''}{message}")
    finally:
        Registry.may_override = True


Registry.install = staticmethod(load_installed)


@contextlib.contextmanager
def plugins_kept() -> Iterator[None]:
    """Plug-ins registered in the block, by files and by hand, are forgotten at its end; installed ones stay."""
    load_installed()
    before = [(registry, registry.outside()) for registry in Registry.every]
    files, path = dict(_files), list(sys.path)
    try:
        yield
    finally:
        known = {id(registry) for registry, _ in before}
        for registry, classes in [*before, *((r, {}) for r in Registry.every if id(r) not in known)]:
            registry.restore(classes)
        _files.clear()
        _files.update(files)
        sys.path[:] = path


@contextlib.contextmanager
def own_alone() -> Iterator[None]:
    """Registries hold irtool's own plug-ins alone, in this thread: loaded or installed ones come back at the end.

    For what is generated of all plug-ins and is the same wherever it is generated.
    """
    with plugins_kept():
        busy, _state.busy = getattr(_state, "busy", False), True
        try:
            for registry in Registry.every:
                registry.restore({})
            yield
        finally:
            _state.busy = busy


def plugin_identity() -> str | None:
    """A digest of the files of the plug-ins that may take part now. None if one is in no file."""
    import hashlib

    load_installed()
    modules = {*_files.values(), *_installed}
    for registry in Registry.every:
        for cls in registry.outside().values():
            if not file_of(cls):
                return None
            modules.add(cls.__module__)
    digests: dict[str, str] = {}
    for name in modules:
        home = os.path.dirname(_file(name))
        top = name.partition(".")[0]
        for other in list(sys.modules):
            path = _file(other)
            if path and (other == name or other.partition(".")[0] == top or (home and os.path.dirname(path) == home)):
                digests[path] = ""
    for path in digests:
        try:
            with open(path, "rb") as file:
                digests[path] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return None
    return repr(sorted(digests.items()))


def _file(module: str) -> str:
    return os.path.abspath(getattr(sys.modules.get(module), "__file__", None) or "") if module in sys.modules else ""
