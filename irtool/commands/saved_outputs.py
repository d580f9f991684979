"""Files that `irtool run` writes outputs to."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .mistakes import BadValue, ClashingOptions
from .output import write_bytes
from .run_steps import Keep

if TYPE_CHECKING:
    from ..ir import Function


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


class SavedStates:
    """The states of a network after its last step, by name, for an `.npz` file that `--params` takes."""

    def __init__(self, path: str | None, function: Function) -> None:
        """Without a path, nothing is kept. Raises UsageError for another kind of file, and for a function without states."""
        from ..diagnostics import UsageError
        from ..ir.tensor_names import state_outputs

        self._path = path
        self._states: dict[str, Any] = {}
        if path is None:
            return
        if not path.lower().endswith(".npz"):
            raise UsageError(f"--save-states writes an .npz file, and {path} is none", code=BadValue)
        if not state_outputs(function):
            raise UsageError(
                "--save-states is for networks with states", help="add --state IN=OUT", code=ClashingOptions
            )

    @property
    def keep(self) -> Keep | None:
        """Takes the states of a run; those of the first one stay."""
        return None if self._path is None else lambda states: self._states.update(self._states or states)

    def write(self) -> None:
        """Writes the file."""
        from ..parser.params import write_npz

        if self._path is not None:
            buffer = io.BytesIO()
            write_npz(buffer, self._states)
            write_bytes(self._path, buffer.getvalue())


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
