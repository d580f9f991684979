"""Passes from outside: Python files named with `--load`, and entry points of the group `irtool.plugins`."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence

from ..diagnostics import UsageError


def load_files(paths: Sequence[str]) -> None:
    """Imports installed plug-ins and then the files, in order. Raises UsageError where one cannot be imported."""
    _load_entry_points()
    if paths:
        from ..passes import passes

        passes.load()  # so that a name that is taken is refused where it is taken again
    for number, path in enumerate(paths):
        if not os.path.isfile(path):
            raise UsageError(f"cannot load {path}: no such file")
        spec = importlib.util.spec_from_file_location(f"irtool_loaded_{number}", path)
        assert spec is not None and spec.loader is not None
        try:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
        except Exception as error:
            raise UsageError(f"cannot load {path}: {type(error).__name__}: {error}") from error


def _load_entry_points() -> None:
    from importlib.metadata import entry_points

    for point in entry_points(group="irtool.plugins"):
        try:
            point.load()
        except Exception as error:
            raise UsageError(f"cannot load the plug-in {point.name}: {type(error).__name__}: {error}") from error
