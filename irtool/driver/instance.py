"""An instance of a network with states: its tensors that stay in memory from one step to the next."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ..diagnostics import IrError, UsageError
from ..ir.mistakes import ValueDoesNotFit
from .serving import Serving
from .signature import Signature


class OtherState(IrError, ValueError):
    """Bytes that are no saved state of a network."""


class Instance:
    """The states of a network, which steps read and update. Instances share the network's code and weights.

    Several threads may have steps of one instance at once: they come one after the other.

    Args:
        serving: the loaded network.
        signature: the inputs and outputs of a step.
        report: of the build.
        function: the name of the function that takes a step.
    """

    def __init__(self, serving: Serving, signature: Signature, report: Mapping[str, Any], function: str) -> None:
        import numpy as np

        self._serving = serving
        self._network = serving.stateful
        self._signature = signature
        self._function = function
        self._saved_bytes: int = report["saved_bytes"]
        self._rewinds: bool = report.get("rewinds", False)
        self._lengths = len(report.get("state_lengths", ()))
        self._states: Sequence[Mapping[str, Any]] = report["states"]
        self._arena_bytes: int = report["arena_bytes"]
        # Of 64-bit words: aligned for every dtype.
        self._memory = np.zeros(-(-report["instance_bytes"] // 8), np.uint64)
        self._address: int = self._memory.ctypes.data
        self._lock = threading.Lock()
        self.reset()

    def step(self, inputs: Sequence[Any] | Mapping[str, Any] = (), **named: Any) -> Any:
        """The outputs of the next step, for inputs in order or by name: states are neither. Raises as `Artifact.run` does, and StateFull
        if the states have no room for the step."""
        if named:
            if len(inputs):
                raise UsageError("inputs are given in order or by name, not both")
            inputs = named
        signature = self._signature
        if signature.values is not None:
            with self._lock:
                arrays, outputs, lengths, memory = signature.call_on_values(
                    inputs, self._memory[: self._lengths].tolist()
                )
                values = memory.open(self._arena_bytes)
                self._serving.step(self._address, arrays, outputs, self._function, lengths, values)
            return signature.result(outputs, memory)
        with self._lock:
            arrays, outputs, lengths = signature.call(inputs, self._memory[: self._lengths].tolist())
            self._serving.step(self._address, arrays, outputs, self._function, lengths)
        return signature.result(outputs)

    def values(self) -> dict[str, Any]:
        """The states by name, as new arrays: of a training step, its trained weights among them.

        Raises UsageError for states whose shapes are lengths.
        """
        import numpy as np

        from ..ir.dtypes import numpy_dtype

        if self._lengths:
            names = ", ".join(s["name"] for s in self._states)
            raise UsageError(f"the shapes of states are lengths, and give no arrays: {names}")
        memory = self._memory.view(np.uint8)
        with self._lock:
            return {
                s["name"]: memory[s["offset"] : s["offset"] + s["bytes"]]
                .view(numpy_dtype(s["dtype"]))
                .reshape(s["shape"])
                .copy()
                for s in self._states
            }

    def reset(self) -> None:
        """Begins anew: states get their first values."""
        with self._lock:
            self._network.begin(self._address)

    def rewind(self, position: int) -> None:
        """Forgets all but the first rows of the states, so that a step continues there, as `NAME_rewind` does.

        Raises UsageError for states that are something else than rows of the steps before, IrError for more rows than there are.
        """
        if not self._rewinds:
            raise UsageError(
                "the states of this network are not only rows of the steps before: nothing says what they were"
            )
        with self._lock:
            count = int(self._memory[0])
            if not 0 <= position <= count:
                message = f"there are {count} rows: the states cannot go back to {position}"
                raise IrError(message, code=ValueDoesNotFit)
            self._memory[0] = position

    def save(self) -> bytes:
        """The states as bytes, for `restore` in any process on such a machine."""
        import numpy as np

        saved = np.empty(self._saved_bytes, np.uint8)
        with self._lock:
            self._network.transfer_state(self._address, saved.ctypes.data)
        return saved.tobytes()

    def restore(self, saved: bytes) -> None:
        """Takes the states from bytes that `save` gave. Raises OtherState for other bytes, which change nothing."""
        import numpy as np

        array = np.frombuffer(saved, np.uint8)
        with self._lock:
            if len(array) != self._saved_bytes or not self._network.transfer_state(
                self._address, restored=array.ctypes.data
            ):
                raise OtherState(
                    f"these {len(array)} bytes are no saved state of this network, which has {self._saved_bytes}, or damaged",
                    code=ValueDoesNotFit,
                )
