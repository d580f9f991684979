"""Files that `irtool run` writes outputs to."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from .mistakes import ClashingOptions
from .output import write_bytes


def save_outputs(path: str, value: Any, names: Sequence[str] | None = None) -> None:
    """Writes the tensors of a value: as an `.npz` file of `out0`, `out1`, …, or the only one as `.npy` if the path ends so.

    With `names`, those of the model, in order, the arrays have these. Raises UsageError if an output has no name or two have the
    same one, and if there is not one output for a `.npy` file.
    """
    import numpy as np

    from ..diagnostics import UsageError
    from ..ir.values import value_leaves
    from ..parser.params import write_npz

    arrays = [np.asarray(leaf) for leaf in value_leaves(value)]
    buffer = io.BytesIO()
    if path.lower().endswith(".npy"):
        if len(arrays) != 1:
            raise UsageError(
                f"{path} holds one array, and there are {len(arrays)} outputs",
                help="write a .npz file",
                code=ClashingOptions,
            )
        np.lib.format.write_array(buffer, arrays[0], allow_pickle=False)
    else:
        write_npz(buffer, dict(zip(_keys(names, len(arrays)), arrays, strict=True)))
    write_bytes(path, buffer.getvalue())


def _keys(names: Sequence[str] | None, count: int) -> list[str]:
    """The names of that many arrays in a file."""
    from ..diagnostics import UsageError

    if names is None:
        return [f"out{n}" for n in range(count)]
    known = list(names[:count])
    if len(known) == count and all(known) and len(set(known)) == count:
        return known
    raise UsageError(
        "--by-name: the outputs have no names of their own",
        help="leave it out: the arrays are out0, out1, …",
        code=ClashingOptions,
    )
