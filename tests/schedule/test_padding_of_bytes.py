"""Padding of bytes with a zero point before a product of words, on several processors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.passes.core.bind import bind_params
from tests.backends.bundle import Bundle
from tests.backends.dots import V, numbers
from tests.backends.instructions import ARM, require
from tests.backends.requantized import rounded

CASES = {
    "uint8": ("uint8", 7, 32, ""),
    "int8": ("int8", -3, 32, ""),
    "words that are not full": ("uint8", 7, 30, ""),
    "zero": ("uint8", 0, 32, ""),
    "read twice": ("uint8", 7, 32, "%p"),
    "groups": ("uint8", 7, 32, "groups"),
}
"""By name: dtype, number, channels, what else there is."""
BUILDS = {
    "native": ("cc", {"mcpu": "native"}, ["-march=native"], ""),
    "x86-64-v3": ("gcc", {"mcpu": "x86-64-v3"}, ["-march=x86-64-v3"], ""),
    "scalar": ("cc", {"mcpu": "native", "vector": "none"}, [], ""),
    "Arm's dot product": (
        ARM[0],
        {"mcpu": "armv8.2-a+dotprod", "cc": ARM[0]},
        ["-static", "-march=armv8.2-a+dotprod"],
        ARM[1],
    ),
    "Arm's matrices": (
        ARM[0],
        {"mcpu": "armv8.2-a+dotprod+i8mm", "cc": ARM[0]},
        ["-static", "-march=armv8.2-a+dotprod+i8mm"],
        ARM[1],
    ),
}


def padded(case: str) -> tuple[irtool.Module, np.ndarray]:
    """A convolution, padding, and another one; with its input."""
    dtype, number, c, more = CASES[case]
    groups = f", groups={c}" if more == "groups" else ""
    second = (c, 1, 3, 3) if groups else (c, c, 3, 3)
    text = f"""{V}def @main(%x: Tensor[(1, {c}, 7, 9), {dtype}], %w: Tensor[({c}, {c}, 1, 1), int8], %v: Tensor[{second}, int8]) {{
      %0 = {rounded('nn.conv2d(%x, %w, out_dtype="int32")', dtype)};
      %1 = nn.pad(%0, cast({number}, dtype="{dtype}"), pad_width=[[0, 0], [0, 0], [1, 2], [1, 1]]);
      %2 = nn.conv2d(%1, %v{groups}, strides=[2, 1], out_dtype="int32");
      {"(%2, %1)" if more == "%p" else "(%2,)"}
    }}"""
    module = irtool.infer_types(irtool.parse(text))
    weights = {
        n: numbers("int8", int(np.prod(s)), k).reshape(s)
        for k, (n, s) in enumerate({"w": (c, c, 1, 1), "v": second}.items())
    }
    return bind_params(module, weights, "main"), numbers(dtype, c * 63, 5).reshape(1, c, 7, 9)


@pytest.mark.parametrize("build", BUILDS)
def test_results_are_those_of_the_interpreter(build: str, tmp_path: Path) -> None:
    cc, options, flags, emulator = BUILDS[build]
    require(cc, emulator)
    bundle, want = Bundle(tmp_path, **options), []
    for case in CASES:
        module, x = padded(case)
        bundle.add(module, [x])
        want += [np.asarray(y) for y in irtool.evaluate(module, [x])]
    got = [y for outputs in bundle.run(["-O1", *flags], cc=cc, prefix=emulator.split()) for y in outputs]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g.ravel(), w.ravel())
