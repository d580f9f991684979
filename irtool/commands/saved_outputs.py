"""Files that `irtool run` writes outputs to."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from .mistakes import ClashingOptions
from .output import write_bytes


def save_outputs(path: str, value: Any, names: Sequence[str]) -> None:
    """Writes the tensors of a value: as `.npz` by name, or the only one as `.npy` if the path ends so.

    `names` are those of the model, in order; where one is missing or stands for several, all are `out0`, `out1`, …. Raises
    UsageError where there is not one output for a `.npy` file.
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
        write_npz(buffer, dict(zip(keys_of(names, len(arrays)), arrays, strict=True)))
    write_bytes(path, buffer.getvalue())


def keys_of(names: Sequence[str], count: int) -> list[str]:
    """The names of that many outputs in a file."""
    known = list(names[:count])
    if len(known) == count and all(known) and len(set(known)) == count:
        return known
    return [f"out{n}" for n in range(count)]
