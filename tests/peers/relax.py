"""Relax modules in TVM: files are imported as Python imports them, built for llvm, and run on numpy arrays."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irtool.exports import Request, parse_export
from irtool.ir import Module


def export(module: Module, folder: Path, weights: Mapping[str, Any] | None = None) -> Path:
    """Writes a typed module; returns the path of the Python file."""
    folder.mkdir(parents=True, exist_ok=True)
    files = parse_export("relax").write(module, Request("exported.py", "main", weights or {}))
    for file in files:
        with open(folder / file.name, "wb") as out:
            out.writelines(file.parts)
    return folder / files[-1].name


def load(path: Path) -> Any:
    """The module that TVM parses out of a file, well-formed; raises what TVM raises."""
    from tvm import relax

    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded  # TVM's parser looks the source up there
    try:
        spec.loader.exec_module(loaded)
    finally:
        del sys.modules[path.stem]
    assert relax.analysis.well_formed(loaded.Module) is not False
    return loaded.Module


def build(module: Any) -> Any:
    """The module in TVM's virtual machine.

    Products with transposed weights are fused first: TVM runs loop nests as it finds them, and strides through a transposed copy.
    """
    import tvm
    from tvm import relax

    module = relax.transform.FuseTransposeMatmul()(module)
    return relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())


def run(machine: Any, inputs: Sequence[Any]) -> list[np.ndarray]:
    """The outputs of `main`, tuples taken apart."""
    return _leaves(machine["main"](*map(_tensor, inputs)))


def _tensor(value: Any) -> Any:
    import tvm

    if isinstance(value, tuple | list):
        return tuple(map(_tensor, value))
    return tvm.runtime.tensor(np.array(value, order="C"))


def _leaves(value: Any) -> list[np.ndarray]:
    return [value.numpy()] if hasattr(value, "numpy") else [leaf for field in value for leaf in _leaves(field)]


def difference(actual: Sequence[np.ndarray], expected: Sequence[Any]) -> str:
    """What differs between outputs, in a sentence; empty if nothing does: integers exactly, floats to 1e-4."""
    if len(actual) != len(expected):
        return f"there are {len(actual)} outputs, not {len(expected)}"
    for n, (got, want) in enumerate(zip(actual, map(np.asarray, expected), strict=True)):
        if got.shape != want.shape or got.dtype != want.dtype:
            return f"output {n} is of {got.shape} {got.dtype}, not {want.shape} {want.dtype}"
        rough = 0.0 if want.dtype.kind in "biu" else 1e-2 if want.dtype.itemsize == 2 else 1e-4
        if not np.allclose(got.astype("float64"), want.astype("float64"), rtol=rough, atol=rough, equal_nan=True):
            return f"output {n} is {got.ravel()[:4].tolist()}, not {want.ravel()[:4].tolist()}"
    return ""
