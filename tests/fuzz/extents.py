"""Random networks with extents that values decide: selections, slices, steps, branches, and turns that grow tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.diagnostics import IrError, ToolError
from irtool.ir.values import value_leaves
from tests.driver.programs import parse

_ROWS, _COLUMNS = 3, 4

_VECTORS = (
    "take({v}, squeeze(argwhere(greater({v}, {c}f)), axis=[1]), axis=0)",
    "take({v}, squeeze(argwhere(less({v}, {w0})), axis=[1]), axis=0)",
    "clip(multiply({v}, {v}), a_min=-9f, a_max=9f)",
    "sort({v}, axis=0)",
    "reverse({v}, axis=0)",
    "clip(cumsum({v}, axis=0), a_min=-9f, a_max=9f)",
    "subtract({v}, max(concatenate(({v}, %y))))",
    "concatenate(({v}, {w}))",
    "concatenate((%y, {v}))",
    "strided_slice({v}, begin=[{b}], end=[{e}], strides=[{s}], axes=[0])",
    "strided_slice({v}, begin=[-{e}], end=[9], strides=[1], axes=[0])",
    "dyn.strided_slice({v}, %zero, %count, %one, begin=None, end=None, strides=None, axes=None)",
    "dyn.strided_slice({v}, %count, %nine, %one, begin=None, end=None, strides=None, axes=None)",
    "subtract(nn.relu({v}), 1.5f)",
    'multiply({v}, dyn.full(2f, shape_of({v}, dtype="int64"), shape=None, dtype="float32"))',
    "sum(concatenate((expand_dims({v}, axis=1), expand_dims({w}, axis=1)), axis=1), axis=[1])",
    'cast(arange(0, %m, {s}, start=0, stop=%m, step={s}, dtype="int32"), dtype="float32")',
    'dyn.full({c}f, %count, shape=None, dtype="float32")',
    "if (greater({w0}, %x0)) {{ {v} }} else {{ abs({w}) }}",
    "if (greater(%m, {s})) {{ strided_slice({v}, begin=[1], end=[9], strides=[1], axes=[0]) }} else {{ nn.relu({w}) }}",
    "@grow(0, %m, {v}, %y)",
    "@thin(0, %m, {v})",
    'reshape(cast(argwhere(greater(expand_dims({v}, axis=0), expand_dims(%y, axis=1))), dtype="float32"), newshape=[-1])',
)
"""Forms without rounding, so that no comparison depends on the order of a sum. Vectors of vectors `{v}` and `{w}`, numbers `{b}`, `{e}`, `{s}` and `{c}`, and the sum `{w0}` of a vector."""

_FUNCTIONS = """
def @grow(%i: int32, %n: int32, %v: Tensor[(?), float32], %y: Tensor[(3), float32]) -> Tensor[(?), float32] {
  if (less(%i, %n)) { @grow(add(%i, 1), %n, concatenate((%v, multiply(%y, cast(%i, dtype="float32")))), %y) } else { %v }
}
def @thin(%i: int32, %n: int32, %v: Tensor[(?), float32]) -> Tensor[(?), float32] {
  if (less(%i, %n)) { @thin(add(%i, 1), %n, take(%v, squeeze(argwhere(greater(%v, cast(%i, dtype="float32"))), axis=[1]), axis=0)) } else { %v }
}
"""

_BEGIN = (
    "%m = clip(%n, a_min=-1f, a_max=5f)",
    '%count = reshape(cast(maximum(%m, 0), dtype="int64"), newshape=[1])',
    '%zero = zeros(shape=[1], dtype="int64")',
    '%one = ones(shape=[1], dtype="int64")',
    '%nine = full(9i64, shape=[1], dtype="int64")',
    "%x0 = sum(%x)",
    "%r = reshape(%x, newshape=[-1])",
    "%v0 = take(%r, squeeze(argwhere(greater(%r, -5f)), axis=[1]), axis=0)",
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a network. `kind`: agreed, refused (by the compiler), or failed."""

    seed: int
    kind: str
    message: str = ""
    pipeline: tuple[str, ...] = ()


def draw(seed: int) -> str:
    """The text of a network."""
    g = np.random.RandomState(seed)
    lines = [*_BEGIN]
    vectors = ["%v0"]
    for n in range(1, int(g.randint(2, 8))):
        form = str(_VECTORS[g.randint(len(_VECTORS))])
        numbers = {"b": g.randint(3), "e": g.randint(1, 8), "s": g.randint(1, 4), "c": g.randint(-4, 5) / 2}
        v, w = (str(x) for x in g.choice(vectors, 2))
        lines.append(f"%v{n} = {form.format(v=v, w=w, w0=f'sum({w})', **numbers)}")
        vectors.append(f"%v{n}")
    results = [str(v) for v in g.choice(vectors, min(len(vectors), 2), replace=False)]
    results += [f"sum({v})" for v in vectors[1:]]
    body = " ".join(f"let {line};" for line in lines)
    params = f"%x: Tensor[({_ROWS}, {_COLUMNS}), float32], %y: Tensor[(3), float32], %n: int32"
    return f"{_FUNCTIONS}def @main({params}) {{ {body} ({', '.join(results)},) }}"


def inputs_of(seed: int) -> Iterator[list[Any]]:
    """Inputs for which nothing, everything, and something is chosen."""
    g = np.random.RandomState(seed)
    for scale, offset, n in ((1, 0, 2), (1, -9, 0), (1, 9, 5), (0, 0, 1), (1, 0, -3), (2, 0, 9)):
        x = (g.randint(-4, 5, (_ROWS, _COLUMNS)) * scale + offset).astype("float32")
        yield [x, g.randint(-2, 3, 3).astype("float32"), np.array(n, "int32")]


def run_extents(seeds: Sequence[int]) -> Iterator[Outcome]:
    """The outcomes of the networks of these seeds."""
    yield from map(_run, seeds)


def write_extents(outcome: Outcome, folder: Path) -> Path:
    """Writes the text of the network behind the difference; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"extents-{outcome.seed}.relay"
    message = "".join(f"// {line}\n" for line in outcome.message.splitlines())
    path.write_text(f'{message}#[version = "0.0.5"]\n{draw(outcome.seed)}\n')
    return path


def _run(seed: int) -> Outcome:
    module = parse(draw(seed))
    try:
        artifact = _build(module, seed)
    except IrError as error:
        return Outcome(seed, "refused", str(error).splitlines()[0])
    if artifact.report.get("kernels") is None or not artifact.report["kernels"]:
        return Outcome(seed, "refused", "it is compiled for the values of each run")
    for inputs in inputs_of(seed):
        message = _difference(module, artifact, inputs)
        if message:
            return Outcome(seed, "failed", f"{message} for {inputs}")
    return Outcome(seed, "agreed")


def _build(module: irtool.Module, seed: int) -> irtool.Artifact:
    """Every third network is built with sanitizers, every other one without vectors."""
    if seed % 3 == 0:
        return irtool.build(module, emit="exe", sanitize="address,undefined")
    return irtool.build(module, vector=seed % 2 == 0)


def _difference(module: irtool.Module, artifact: irtool.Artifact, inputs: list[Any]) -> str:
    """The difference between the interpreter and C; empty if there is none."""
    expected = got = None
    errors = []
    for evaluate in (lambda: irtool.evaluate(module, inputs), lambda: artifact.run(inputs)):
        try:
            got, expected = evaluate(), got
        except (IrError, ToolError) as error:
            errors.append(str(error))
    if errors:
        refusals = ("outside of its bounds", "have to be equal", ", and it has to be from ")
        is_length = len(errors) == 2 and any(text in errors[1] for text in refusals)
        return "" if is_length else " / ".join(errors)
    for e, a in zip(value_leaves(expected), value_leaves(got), strict=True):
        e, a = np.asarray(e), np.asarray(a)
        if e.shape != a.shape or e.dtype != a.dtype or not np.array_equal(e, a):
            return f"{e} of the interpreter, and {a}"
    return ""
