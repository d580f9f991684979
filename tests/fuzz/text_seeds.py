"""The texts that are mutated: tiny ones for each construct and each operator, the project's small ones, and a corpus beside it."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import irtool
from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, Var
from irtool.ops.base import call, operators
from irtool.ops.binary import Binary
from irtool.ops.reduce import Reduction
from irtool.ops.unary import Unary
from tests.ops.cases import calls_of_family
from tests.ops.structural_cases import DRAWINGS, draw_case

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus"
VERSION = '#[version = "0.0.5"]\n'
LONGEST = 1_500
"""Characters of a text that is mutated: small ones are tried more often in the same time."""


@cache
def pool() -> tuple[str, ...]:
    """The seeds that change only when the language or the operators do, in a fixed order."""
    return (*constructs(), *operator_calls(), *printed())


def constructs() -> list[str]:
    """The texts of `seeds/*.relay`, which are apart by lines of dashes."""
    texts = []
    for path in sorted(Path(__file__).with_name("seeds").glob("*.relay")):
        for text in path.read_text("utf-8").split("// ----\n"):
            texts.append(text if text.startswith(("#[version", "//", "fn", "v0")) else VERSION + text)
    return texts


@cache
def wide_pool() -> tuple[str, ...]:
    """These, the project's small files, and a corpus beside the checkout where there is one."""
    return (*pool(), *files(), *sorted(set(corpus())))


def files() -> list[str]:
    """The samples and goldens, inputs and what is expected of them alike."""
    paths = [
        *ROOT.glob("samples/*.relay"),
        *ROOT.glob("tests/golden/**/*.relay"),
        *ROOT.glob("tests/golden/**/*.expected"),
    ]
    texts = (path.read_text("utf-8", "surrogateescape") for path in sorted(paths))
    return [text for text in texts if len(text) <= LONGEST and "def @" in text]


def operator_calls() -> list[str]:
    """A module for each operator that is known how to be drawn: one call, some arguments of it constants."""
    draw = random.Random(0)
    cases: list[tuple[str, Sequence[Any], dict[str, Any]]] = list(calls_of_family("nn"))
    cases += [(name, *draw_case(name, draw.randint)) for name in sorted(DRAWINGS)]
    for operator in sorted(operators, key=lambda o: o.name):
        x = np.zeros(
            draw.choice([(2, 3), (1, 4), (3,), ()]), draw.choice(["float32", "int32", "int64", "bool", "uint8"])
        )
        if issubclass(operator, Unary):
            cases.append((operator.name, [x], {}))
        elif issubclass(operator, Binary):
            cases.append((operator.name, [x, x[:1] if x.ndim else x], {}))
        elif issubclass(operator, Reduction):
            cases.append(
                (
                    operator.name,
                    [np.zeros((2, 3), "float32")],
                    {"axis": draw.choice([[0], [0, 1], [-1]]), "keepdims": True},
                )
            )
    texts = []
    for name, inputs, attributes in cases:
        params: list[Var] = []
        drawn = call(name, *[_argument(value, params, draw) for value in inputs], **attributes)
        text = irtool.to_text(Module({"main": Function(tuple(params), drawn)}))
        if len(text) <= LONGEST:
            texts.append(text)
    return texts


def _argument(value: Any, params: list[Var], draw: random.Random) -> Expr:
    """A parameter of the type of a value, now and then the value itself."""
    if isinstance(value, tuple | list):
        return Tuple(tuple(_argument(v, params, draw) for v in value))
    value = np.asarray(value)
    if value.size <= 16 and draw.random() < 0.2:
        return Constant(value)
    params.append(Var("x", TensorType(value.shape, value.dtype.name)))
    return params[-1]


def printed() -> list[str]:
    """Small seeds as irtool prints them with types: comments, numbered bindings, metadata."""
    texts = []
    for text in constructs():
        try:
            texts.append(irtool.to_text(irtool.infer_types(irtool.parse(text))))
        except irtool.IrError:
            continue
    return [text for text in texts if len(text) <= LONGEST]


def corpus(longest: int = LONGEST) -> Iterator[str]:
    """The texts of a corpus beside the checkout, where there is one: what was read, printed and typed."""
    for path in sorted(CORPUS.glob("**/*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                case = json.loads(line)
                for key in ("source", "before", "printed", "inferred", "after"):
                    text = case.get(key)
                    if isinstance(text, str) and 0 < len(text) <= longest:
                        yield text
