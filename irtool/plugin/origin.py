"""The origin of a plug-in: irtool itself or outside, and the place in its file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from types import FrameType, TracebackType
from typing import Any

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder of the package irtool."""


def is_outside(cls: Any) -> bool:
    """True for a class or a function that irtool's own modules do not define."""
    return not _is_own(cls.__module__)


def _is_own(module: str) -> bool:
    return module == "irtool" or module.startswith("irtool.")


def mark_place(cls: type) -> None:
    """Notes on a class from outside the line that is defining it now: the nearest frame that is not irtool's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    if frame is not None and frame.f_globals.get("__name__") == cls.__module__:
        cls._place = (frame.f_code.co_filename, frame.f_lineno)  # type: ignore[attr-defined]  # noted on the class


def place_of(cls: Any) -> str:
    """`FILE:LINE` of a class or function from outside, as far as it is known; the name of its module otherwise."""
    code = getattr(cls, "__code__", None)
    origin = (code.co_filename, code.co_firstlineno) if code is not None else cls.__dict__.get("_place")
    return f"{shown(origin[0])}:{origin[1]}" if origin is not None else cls.__module__


def file_of(cls: Any) -> str:
    """The file that defines a class or a function; empty outside of files (a notebook, standard input)."""
    path = getattr(sys.modules.get(cls.__module__), "__file__", None) or "<none>"
    return "" if path.startswith("<") else os.path.abspath(path)


def is_same_definition(old: Any, new: Any) -> bool:
    """True if a class or function is an earlier one defined again: of the same name in the same file, module or session."""
    if not is_outside(old):
        return False
    if old.__module__ == new.__module__ == "__main__" and not file_of(new):
        return True
    same_file = file_of(old) == file_of(new) != ""
    return old.__qualname__ == new.__qualname__ and (old.__module__ == new.__module__ or same_file)


def shown(path: str) -> str:
    """A path for messages: relative to the current folder if it is below it, absolute elsewhere."""
    if path.startswith("<"):
        return path
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):
        return path
    return path if relative.startswith(os.pardir) else relative


def outside_frame(trace: TracebackType | None, files: Iterable[str] = ()) -> tuple[str, int] | None:
    """File and line of the innermost call in a traceback that is of a user's own code, or None.

    That is code in one of `files`, or in any file that belongs neither to irtool nor to Python and what is installed in it.
    """
    own = set(files)
    result = None
    while trace is not None:
        path = trace.tb_frame.f_code.co_filename
        if path in own or not path.startswith(_installed()):
            result = (path, trace.tb_lineno)
        trace = trace.tb_next
    return result


def _installed() -> tuple[str, ...]:
    """Folders of irtool, of Python's own modules and of installed packages, each with its separator; code in no file."""
    if not _INSTALLED:
        import site
        import sysconfig

        paths = sysconfig.get_paths()
        folders = {HOME, paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"], paths["scripts"]}
        folders |= {*site.getsitepackages(), os.path.dirname(os.__file__)}
        _INSTALLED.extend(["<frozen", "<string>", *sorted(os.path.join(f, "") for f in folders)])
    return tuple(_INSTALLED)


_INSTALLED: list[str] = []
