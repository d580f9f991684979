"""Whole quantized networks of every pair of signs give the interpreter's bits on every kind of processor, whatever its instructions take."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.passes.core.bind import bind_params
from tests.backends.bundle import Bundle
from tests.backends.dots import V, numbers
from tests.backends.instructions import ARM, ARMV7, FLAGS, require

PAIRS = [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8")]
"""The dtypes of data and weights."""
_ZERO = {"uint8": 117, "int8": -9}
_WEIGHTS = {"v": (32, 16, 3, 3), "d": (32, 1, 3, 3), "p": (32, 32, 1, 1), "f": (10, 32)}


def x86(mcpu: str, feature: str = "") -> tuple[str, dict[str, str], list[str], str, str]:
    return "gcc", {"mcpu": mcpu}, [f"-march={mcpu}"], "", feature


def arm(mcpu: str) -> tuple[str, dict[str, str], list[str], str, str]:
    return ARM[0], {"mcpu": mcpu, "cc": ARM[0]}, ["-static", f"-march={mcpu}"], ARM[1], ""


BUILDS = {
    "scalar": ("cc", {"mcpu": "native", "vector": "none"}, [], "", ""),
    "SSE2": x86("x86-64"),
    "SSE4": x86("x86-64-v2", "sse4_2"),
    "AVX2": x86("x86-64-v3", "avx2"),
    "AVX-512": x86("x86-64-v4", "avx512bw"),
    "AVX-512 VNNI": x86("cascadelake", "avx512_vnni"),
    "AVX-VNNI": x86("alderlake", "avx_vnni"),
    "AArch64": arm("armv8-a"),
    "dot products": arm("armv8.2-a+dotprod"),
    "matrices": arm("armv8.2-a+dotprod+i8mm"),
    "SMLAD": (ARMV7[0], {"mcpu": "armv7-a+fp", "cc": ARMV7[0]}, ["-static", "-march=armv7-a+fp", "-mthumb"], ARMV7[1], ""),
}  # fmt: skip
"""By name: compiler, options of the build, flags, emulator, what the processor needs."""


def network(data: str, weights: str) -> tuple[irtool.Module, np.ndarray]:
    """Two dense convolutions, a depthwise one, a sum of branches and a dense layer, none of whose zero points is 0; and an input."""
    z, w = _ZERO[data], 0 if weights == "int8" else 131

    def conv(x: str, name: str, more: str) -> str:
        return f'qnn.conv2d({x}, %{name}, {z}, {w}, 0.02f, 0.01f, {more}, out_dtype="int32")'

    def again(x: str, scale: str) -> str:
        return f'qnn.requantize({x}, {scale}, 0, 0.02f, {z}, out_dtype="{data}")'

    parameters = ", ".join(f"%{n}: Tensor[{s}, {weights}]" for n, s in _WEIGHTS.items())
    text = f"""{V}def @main(%x: Tensor[(1, 16, 8, 9), {data}], {parameters}) {{
      %0 = {again(conv("%x", "v", "padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]"), "0.0001f")};
      %1 = {again(conv("%0", "d", "padding=[1, 1, 1, 1], groups=32, channels=32, kernel_size=[3, 3]"), "0.0003f")};
      %2 = {again(conv("%1", "p", "padding=[0, 0, 0, 0], channels=32, kernel_size=[1, 1]"), "0.0002f")};
      %3 = qnn.add(%2, %0, 0.02f, {z}, 0.02f, {z}, 0.03f, {z});
      %4 = cast(nn.global_avg_pool2d(cast(%3, dtype="int32")), dtype="{data}");
      %5 = qnn.dense(nn.batch_flatten(%4), %f, {z}, {w}, 0.02f, 0.01f, units=10, out_dtype="int32");
      (%3, %5)
    }}"""
    arrays = {n: numbers(weights, int(np.prod(s)), k).reshape(s) for k, (n, s) in enumerate(_WEIGHTS.items())}
    module = bind_params(irtool.infer_types(irtool.parse(text)), arrays, "main")
    return module, numbers(data, 16 * 72, 9).reshape(1, 16, 8, 9)


@pytest.mark.parametrize("build", BUILDS)
def test_networks_of_all_signs_are_those_of_the_interpreter(build: str, tmp_path: Path) -> None:
    cc, options, flags, emulator, feature = BUILDS[build]
    require(cc, emulator)
    bundle, want = Bundle(tmp_path, **options), []
    for pair in PAIRS:
        module, x = network(*pair)
        bundle.add(module, [x])
        results = [np.asarray(y) for y in irtool.evaluate(module, [x])]
        assert np.unique(results[0]).size > 50, "the test says something"
        want += results
    if feature and feature not in FLAGS:
        pytest.skip(f"this processor has no {feature}; C was made")
    got = [y for outputs in bundle.run(["-O1", *flags], cc=cc, prefix=emulator.split()) for y in outputs]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g.ravel(), w.ravel())
