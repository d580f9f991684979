"""Sums of products for instructions that take the first factor with another sign: bytes are moved by 128, and weights make up for it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.passes.core.bind import bind_params
from tests.backends.bundle import Bundle
from tests.backends.dots import CASES, V, numbers, program
from tests.backends.instructions import ARM, FLAGS, require
from tests.backends.requantized import rounded

BUILDS = {
    "VNNI": ("gcc", {"mcpu": "cascadelake"}, ["-march=cascadelake"], "", "avx512_vnni", "int8"),
    "AVX-VNNI": ("gcc", {"mcpu": "alderlake"}, ["-march=alderlake"], "", "avx_vnni", "int8"),
    "Arm's dot product": (
        ARM[0],
        {"mcpu": "armv8.2-a+dotprod", "cc": ARM[0]},
        ["-static", "-march=armv8.2-a+dotprod"],
        ARM[1],
        "",
        "uint8",
    ),
}
"""By name: compiler, options of the build, flags, emulator, what the processor needs, the dtype that is moved."""


def chain(dtype: str, count: int = 4) -> str:
    """Convolutions of one pixel, one behind the other."""
    lines = []
    for n in range(count):
        data = f"%r{n - 1}" if n else "%x"
        lines.append(f"  let %r{n} = {rounded(f'nn.conv2d({data}, %w, out_dtype={chr(34)}int32{chr(34)})', dtype)};")
    return f"{V}def @main(%x: Tensor[(1, 64, 6, 7), {dtype}], %w: Tensor[(64, 64, 1, 1), int8]) {{\n" + "\n".join(
        [*lines, f"  %r{count - 1}\n}}"]
    )


def branches(dtype: str, pool: bool) -> str:
    """A result that convolutions, a sum and, perhaps, a pool read: each as it is multiplied, or as it was."""
    conv = 'nn.conv2d({}, {}, out_dtype="int32")'
    wide = 'nn.conv2d({}, {}, padding=[1, 1], out_dtype="int32")'
    pooled = "%p = nn.max_pool2d(%a, pool_size=[3, 3], padding=[1, 1, 1, 1]);" if pool else "%p = %c;"
    return f"""{V}def @main(%x: Tensor[(1, 32, 6, 7), {dtype}], %w: Tensor[(32, 32, 1, 1), int8], %v: Tensor[(32, 32, 3, 3), int8]) {{
      let %a = {rounded(conv.format("%x", "%w"), dtype)};
      let %b = {rounded(conv.format("%a", "%w"), dtype)};
      let %c = {rounded(wide.format("%a", "%v"), dtype)};
      let %d = cast(%a, dtype="int32") + cast(%b, dtype="int32") * 3;
      let {pooled}
      (%b, %c, %d, %p)
    }}"""


@pytest.mark.parametrize("build", BUILDS)
def test_results_are_those_of_the_interpreter(build: str, tmp_path: Path) -> None:
    cc, options, flags, emulator, feature, dtype = BUILDS[build]
    require(cc, emulator)
    bundle, want = Bundle(tmp_path, **options), []
    for text in (chain(dtype), branches(dtype, pool=False), branches(dtype, pool=True)):
        module = irtool.infer_types(irtool.parse(text))
        weights, inputs = {}, []
        for n, p in enumerate(module["main"].params):
            shape = tuple(int(d) for d in p.checked_type.shape)
            data = numbers(p.checked_type.dtype, int(np.prod(shape)), n).reshape(shape)
            if p.name == "x":
                inputs.append(data)
            else:
                weights[p.name] = data
        module = bind_params(module, weights, "main")
        bundle.add(module, inputs)
        result = irtool.evaluate(module, inputs)
        results = [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]
        assert all(np.unique(r).size > 20 for r in results), "the test says something"
        want += results
    if feature and feature not in FLAGS:
        pytest.skip(f"this processor has no {feature}; C was made")
    got = [y for outputs in bundle.run(["-O1", *flags], cc=cc, prefix=emulator.split()) for y in outputs]
    for g, w in zip(got, want, strict=True):
        np.testing.assert_array_equal(g.ravel(), w.ravel())


def kernels(module: irtool.Module, build: str, folder: Path) -> dict[str, str]:
    """The C of each kernel, by its name."""
    cc, options, _, emulator, _, _ = BUILDS[build]
    require(cc, emulator)
    irtool.build(module, name="m", emit="c", out_dir=folder, weights="file", **options)
    text = (folder / "m.c").read_text()
    return {m[1]: m[0] for m in re.finditer(r"^static void (\w+)\(.*?^}", text, re.DOTALL | re.MULTILINE)}


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("case", CASES)
def test_instructions_get_what_they_take(case: str, build: str, tmp_path: Path) -> None:
    dtype = BUILDS[build][-1]
    module, _, w = program(case, dtype, "int8")
    signs = set(
        re.findall(r"irt_vdot4_(\w{4})", "".join(kernels(bind_params(module, {"w": w}), build, tmp_path).values()))
    )
    taken, other = ("u8s8", "s8s8") if dtype == "int8" else ("s8s8", "u8s8")
    if case == "padded phases":  # each sum takes every other weight of a window
        assert signs == {other}
    elif case == "two layers":  # the second one's data are uint8
        assert signs == {"u8s8"} if dtype == "int8" else {"s8s8"}
    else:
        assert signs == (set() if case == "depthwise" else {taken})


@pytest.mark.parametrize("build", BUILDS)
def test_bytes_between_layers_are_stored_as_they_are_multiplied(build: str, tmp_path: Path) -> None:
    w = numbers("int8", 64 * 64, 1).reshape(64, 64, 1, 1)
    dtype = BUILDS[build][-1]
    texts = kernels(bind_params(irtool.parse(chain(dtype)), {"w": w}), build, tmp_path)
    moving = [name for name, text in texts.items() if "2139062144" in text]
    assert len(texts) >= 3 and len(moving) == 1, "only the input of the program is moved as words"


def test_a_pool_reads_bytes_as_they_are(tmp_path: Path) -> None:
    """The largest of moved numbers would be another loop: what a pool reads stays, and the convolution moves its words."""
    weights = {
        "w": numbers("int8", 32 * 32, 1).reshape(32, 32, 1, 1),
        "v": numbers("int8", 9216, 2).reshape(32, 32, 3, 3),
    }
    counts = {}
    for pool in (False, True):
        folder = tmp_path / str(pool)
        module = bind_params(irtool.infer_types(irtool.parse(branches("int8", pool))), weights, "main")
        counts[pool] = sum("pack" in t or "2139062144) -" in t for t in kernels(module, "VNNI", folder).values())
    assert counts[True] > counts[False]
