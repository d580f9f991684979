"""Notes on attributes of TVM's arrays and integers that Python's lack, where such a lack ends a program.

Constants hold numpy arrays, and extents are Python's integers: types that cannot get an attribute, or a message of their own. An
AttributeError knows its object and its name, so whoever shows an error that nobody caught can say more of it.
"""

from __future__ import annotations

import sys
from types import TracebackType

from ..ir.tvm_names import counterpart


def explain_uncaught() -> None:
    """Adds advice on names of TVM's to AttributeErrors that end the program; the hook that showed errors before shows them.
    Called when a program uses `irtool.relay`; does nothing from the second call on."""
    before = sys.excepthook
    if getattr(before, "explains", False):
        return

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, AttributeError) and (hint := explanation(error)):
            error.add_note(hint)
        before(kind, error, trace)

    show.explains = True  # type: ignore[attr-defined]  # marks the function, whoever finds it as the hook
    sys.excepthook = show


def explanation(error: AttributeError) -> str:
    """Advice in place of an attribute that an array or an integer does not have; empty for all others."""
    name = error.name or ""
    class_names = {cls.__name__ for cls in type(error.obj).__mro__} & {"int", "ndarray"}
    return next((hint for kind in sorted(class_names) if (hint := counterpart(kind, name))), "")
