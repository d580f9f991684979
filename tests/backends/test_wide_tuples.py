"""Tuples of hundreds of fields: what C and LLVM compute of them is what the interpreter does, in text that grows with their number."""

import numpy as np
import pytest

import irtool
from irtool.backends.llvm import tools

MANY = 130
TEXT = '#[version = "0.0.5"]\n'
UNEQUAL = [n * (n + 1) // 2 for n in range(1, 16)]


def taken(function: str, parts: int) -> tuple[str, list[str]]:
    """Lines that apply a function to each part of `%p`, and what they are called."""
    lines = "".join(f"  let %t{n} = {function.format(f'%p.{n}', n=n)};\n" for n in range(parts))
    return lines, [f"%t{n}" for n in range(parts)]


def module(params: str, tuple_: str, function: str, parts: int, result: str = "({},)") -> str:
    lines, names = taken(function, parts)
    return f"{TEXT}def @main({params}) {{\n  let %p = {tuple_};\n{lines}  {result.format(', '.join(names))}\n}}\n"


X = f"%x: Tensor[({MANY}, 2), float32]"
PARTS = f"split(%x, indices_or_sections={MANY}, axis=0)"
FIELDS = f"%p: ({', '.join(['Tensor[(1, 2), float32]'] * MANY)},)"
MODULES = {
    "equal parts": module(X, PARTS, "multiply({}, {n}.5f)", MANY),
    "unequal parts": module(X, f"split(%x, indices_or_sections={UNEQUAL})", "tanh({})", len(UNEQUAL) + 1),
    "parts joined": module(X, PARTS, "multiply({}, {n}.5f)", MANY, "concatenate(({},))"),
    "parts stacked": module(X, PARTS, "nn.softmax({})", MANY, "stack(({},), axis=1)"),
    "unstacked": module(X, PARTS, "squeeze({}, axis=[0])", MANY),
    "a tuple joined": f"{TEXT}def @main({FIELDS}) {{ nn.softmax(concatenate(%p, axis=1)) }}\n",
}


def arguments(name: str) -> list:
    rng = np.random.default_rng(5)
    if name == "a tuple joined":
        return [tuple(rng.standard_normal((1, 2)).astype("float32") for _ in range(MANY))]
    return [rng.standard_normal((MANY, 2)).astype("float32")]


def compare(name: str, target: str) -> None:
    built = irtool.parse(MODULES[name])
    inputs = arguments(name)
    expected = irtool.evaluate(built, inputs)
    actual = irtool.build(built, target=target, cache=False).run(inputs)
    for a, b in zip(leaves(actual), leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def leaves(value: object) -> list:
    return list(value) if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("name", MODULES)
def test_c(name: str) -> None:
    compare(name, "c{vector=none}")


@pytest.mark.parametrize("name", ["parts joined"])
def test_threads(name: str) -> None:
    compare(name, "c{openmp=1,threads=2}")


@pytest.mark.skipif(not tools.has_llvmlite(), reason="llvmlite is not installed")
@pytest.mark.parametrize("name", ["unequal parts", "parts joined"])
def test_llvm(name: str) -> None:
    compare(name, "llvm")


def test_text_grows_with_the_number_of_parts(tmp_path) -> None:
    sizes = []
    for n in (32, 64, 128):
        x, parts = f"%x: Tensor[({n}, 2), float32]", f"split(%x, indices_or_sections={n}, axis=0)"
        text = module(x, parts, "nn.softmax({})", n)
        irtool.build(irtool.parse(text), emit="c", out_dir=tmp_path / str(n), cache=False)
        sizes.append(sum(f.stat().st_size for f in (tmp_path / str(n)).glob("*.c")))
    assert sizes[2] - sizes[1] < 2.5 * (sizes[1] - sizes[0])
