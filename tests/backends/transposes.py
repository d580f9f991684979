"""Transposes as they are compiled, beside those of the interpreter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import irtool

Transpose = tuple[tuple[int, ...], tuple[int, ...]]
"""A shape, and the axes that `transpose` is told."""


def data(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers of both signs, all different up to 251."""
    return (np.arange(np.prod(shape)) * 37 % 251 - 120).reshape(shape).astype(dtype)


def check_transposes(transposes: Iterable[Transpose], dtypes: Sequence[str], mcpu: str, sums: int = 0) -> None:
    """Compiled transposes, casts of them and sums of the first `sums` are those of the interpreter, bit for bit."""
    for shape, axes in transposes:
        params = ", ".join(f"%{d}: Tensor[({', '.join(map(str, shape))}), {d}]" for d in dtypes)
        transposed = [f"transpose(%{d}, axes={list(axes)})" for d in dtypes]
        used = [f'cast({t}, dtype="float32")' for t in transposed]
        added = [f"add({t}, {t})" for t in transposed[:sums]]
        text = f'#[version = "0.0.5"]\ndef @main({params}) {{ ({", ".join([*transposed, *used, *added])}) }}'
        module = irtool.infer_types(irtool.parse(text))
        inputs = [data(shape, d) for d in dtypes]
        got = irtool.build(module, mcpu=mcpu).run(inputs)
        for g, w in zip(got, irtool.evaluate(module, inputs), strict=True):
            np.testing.assert_array_equal(g, w)


def kernel_of(text: str, mcpu: str, folder: Path) -> str:
    """The C of a program's kernel, without its twin for compilers without vectors."""
    irtool.build(irtool.infer_types(irtool.parse(text)), name="m", emit="c", out_dir=folder, mcpu=mcpu)
    kernel = (folder / "m.c").read_text().split("\nstatic void tvmgen_m_")[1]
    return kernel.split("\n#else")[0]
