"""The options of a build that is measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .grouped import as_flags
from .mistakes import ClashingOptions

if TYPE_CHECKING:
    from ..driver.options import Options


def measured_build(
    target: str, level: int, entry: str, flags: Mapping[str, Any], precision: str = "float32"
) -> Options:
    """The options of a build for one processor; `flags` are those of the backend. Raises UsageError if `--mcpu` names several."""
    from ..diagnostics import UsageError
    from ..driver.options import Options, choose_backend

    backend, named, sizes = choose_backend(target, as_flags(**flags))
    if backend.lesser_machines():
        raise UsageError("measurements are for one processor; --mcpu names several", code=ClashingOptions)
    return Options(backend=backend, target=named, sizes=sizes, opt_level=level, entries=(entry,), precision=precision)
