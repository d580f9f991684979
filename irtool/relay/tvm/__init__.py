"""The names of TVM's top package for scripts: `from irtool.relay import tvm`.

The names that mean the same here: `tvm.IRModule`, `tvm.transform` (the passes, `PassContext`, `Sequential`), `tvm.target`, `tvm.te`,
`tvm.ir`, `tvm.parser`, `tvm.relay`, and thin ones for what needs nothing here, `tvm.nd` and devices. Any other name of TVM's is an
AttributeError that says what to write.

nd       arrays: numpy's, with `.numpy()`
contrib  the graph executor
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from ...ir.tvm_names import counterpart

_WHERE = {
    "IRModule": ("irtool.ir", "Module"),
    "TVMError": ("irtool.diagnostics", "IrError"),
    "transform": ("irtool.passes", ""),
    "target": ("irtool.relay.tvm.target", ""),
    "te": ("irtool.te", ""),
    "tir": ("irtool.tir", ""),
    "parser": ("irtool.parser", ""),
    "relay": ("irtool.relay", ""),
    "ir": ("irtool.relay.tvm.ir", ""),
    "nd": ("irtool.relay.tvm.nd", ""),
    "testing": ("irtool.relay.tvm.testing", ""),
    "runtime": ("irtool.relay.tvm.runtime", ""),
    "contrib": ("irtool.relay.tvm.contrib", ""),
}


@dataclass(frozen=True)
class Device:
    """A device as scripts name it. Builds run on this processor for any device."""

    device_type: str
    device_id: int = 0

    def sync(self) -> None:
        """Does nothing: calls return when they are done."""


def cpu(dev_id: int = 0) -> Device:
    """This processor."""
    return Device("cpu", dev_id)


def device(dev_type: str, dev_id: int = 0) -> Device:
    """This processor, as `llvm`, `c` or `cpu`. Raises ValueError for any other device."""
    kind = str(dev_type).split()[0]
    if kind not in ("cpu", "llvm", "c"):
        raise ValueError(f"builds run on processors, not on {kind}: write tvm.cpu()")
    return Device("cpu", dev_id)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        module, attribute = _WHERE[name]
        value: Any = importlib.import_module(module)
        value = getattr(value, attribute) if attribute else value
        globals()[name] = value
        return value
    hint = counterpart("tvm", name)
    raise AttributeError(f"irtool.relay.tvm has no attribute {name!r}" + (f": {hint}" if hint else ""))


def __dir__() -> list[str]:
    return sorted({*_WHERE, "Device", "cpu", "device"})
