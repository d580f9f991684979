"""Constants: scalars stand in the text, tensors in an `.npz` file beside it."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

from ...ir import Constant
from .literals import Text, invocation
from .names import ScriptNames

_BITS = {"bfloat16": "uint16"}
"""Dtypes that numpy's files do not have, and the dtype for their bits."""


class Constants:
    """The constants of a module. `arrays` are those of the file, by their names in it; equal ones are there once."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}
        self._names = ScriptNames(())
        self._known: dict[object, str] = {}
        self.has_bfloat16 = False

    def write(self, c: Constant) -> Text:
        """The expression: `R.const(1.0, "float32")`, or the tensor of that name out of the file."""
        data: Any = c.data
        if data.ndim == 0 and c.dtype not in _BITS:
            value = data.item()
            if c.dtype == "bool":
                return invocation("R.const", bool(value), "bool")
            if not isinstance(value, float) or math.isfinite(value):
                return invocation("R.const", value, c.dtype)
        source = Text(f'_constants["{self._name(c)}"]')
        if c.dtype in _BITS:
            self.has_bfloat16 = True
            source = Text(f'{source}.view("{c.dtype}")')
        return invocation("R.const", source, c.dtype)

    def _name(self, c: Constant) -> str:
        data: Any = c.data
        key = (c.dtype, data.shape, data.tobytes())
        if key not in self._known:
            bits = data.view(_BITS[c.dtype]) if c.dtype in _BITS else data
            hint = c.span.name if c.span is not None and c.span.name else f"c{len(self.arrays)}"
            name = self._known[key] = self._names.fresh(hint)
            self.arrays[name] = bits
        return self._known[key]


def npz_parts(arrays: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of an `.npz` file with these arrays."""
    from ...parser.params import write_npz

    out = io.BytesIO()
    write_npz(out, arrays)
    yield out.getvalue()
