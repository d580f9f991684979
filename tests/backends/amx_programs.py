"""Modules as libraries with matrix tiles, whose instructions are emulated (`emulated_amx.h`)."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from tests.backends.instructions import FLAGS

HEADER = Path(__file__).with_name("emulated_amx.h")
MCPU = "x86-64-v4"
"""The least processor that runs the emulation."""
MACHINE = "byte_tiles=16,pair_tiles=16,blocked_updates=1,multiply_adds=1,loads=1,parallel_updates=1"
"""A processor for which tiles pay in small layers too: one whose vectors are half as fast as others'."""
emulated = pytest.mark.skipif(
    "avx512bw" not in FLAGS or not shutil.which("gcc"), reason="AVX-512 and gcc run AMX's emulation"
)


@dataclass(frozen=True)
class Run:
    """A result, with the instructions that added products and the configurations of registers that led to it."""

    result: np.ndarray
    products: int
    configurations: int


class EmulatedProgram:
    """A module built for a processor with tiles. Functions have one result; `sizes`: further numbers of the target."""

    def __init__(
        self,
        module: irtool.Module,
        folder: Path,
        params: Mapping[str, np.ndarray] | None = None,
        sizes: str = "",
        **options: Any,
    ) -> None:
        self.module, self.params, self.folder = module, dict(params or {}), folder
        artifact = irtool.build(
            module,
            self.params,
            name="m",
            out_dir=folder,
            target=f"c{{{MACHINE}{sizes}}}",
            mcpu=MCPU,
            cc="gcc",
            cflags=f"-include {HEADER} -O1",
            weights="inline",
            **options,
        )
        self.report = artifact.report
        (self.out,) = self.report["outputs"]

    @property
    def stages(self) -> list[dict[str, Any]]:
        """The stages of all kernels, as the report has them."""
        return [s for k in self.report["kernels"] for s in k["stages"]]

    def run(self, inputs: Mapping[str, np.ndarray], monkeypatch: pytest.MonkeyPatch, refused: bool = False) -> Run:
        """The result of a fresh copy of the library; `refused`: the system refuses tiles. All registers are given back."""
        if refused:
            monkeypatch.setenv("EMULATED_AMX", "refused")
        else:
            monkeypatch.delenv("EMULATED_AMX", raising=False)
        library = ctypes.CDLL(str(shutil.copy(self.folder / "m.so", self.folder / f"run{refused}.so")))
        result = np.zeros(self.out["shape"], self.out["dtype"])
        arrays = [*map(np.ascontiguousarray, inputs.values()), result]
        assert library.m_run(*(ctypes.c_void_p(x.ctypes.data) for x in arrays)) == 0
        counts = (ctypes.c_long.in_dll(library, f"emulated_{x}").value for x in ("open", "products", "configurations"))
        open_registers, products, configurations = counts
        assert open_registers == 0
        return Run(result, products, configurations)

    def check(self, inputs: Mapping[str, np.ndarray], monkeypatch: pytest.MonkeyPatch, error: float) -> Run:
        """The run with tiles. Vectors give the same bits, and the interpreter the same result, with an error relative to its
        largest element."""
        tiles, vectors = (self.run(inputs, monkeypatch, refused) for refused in (False, True))
        assert tiles.products > 0 and vectors.products == 0
        np.testing.assert_array_equal(tiles.result, vectors.result)
        want = np.asarray(irtool.evaluate(self.module, {**inputs, **self.params})).astype("float64")
        np.testing.assert_allclose(tiles.result, want, rtol=0, atol=error * float(np.abs(want).max()))
        return tiles
