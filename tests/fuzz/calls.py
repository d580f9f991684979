"""Random calls of one operator each: dtypes of all kinds, ranks 0 to 6, empty dimensions, attributes at their corners.

What an operator takes is read from its class: arity, fields, their kinds and defaults. Most calls are mutations of calls that
its rule accepts (those of `tests/ops`), so that they come past the first test of a rule; the others are drawn from nothing.
A call is text, so that every refusal can name a place in it.
"""

from __future__ import annotations

import json
import math
import random
import typing
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from irtool.ops import operators
from irtool.ops.base import DType
from irtool.plugin import type_hints
from tests.ops import cases, drawing, structural_cases

DTYPES = (
    *("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool"),
    *("int16", "uint16", "uint32", "uint64", "bfloat16"),
    *("int4", "uint4", "int1", "float8", "float32x4", "int8x4", "handle", "custom[posites2]32"),
)
COMMON = 8
"""So many of the dtypes are drawn most often."""
INTEGERS = (
    *(0, 1, -1, 2, 3, 4, -2, -7, 8, 31, 2**31 - 1, -(2**31), 2**31, 2**32, 2**62, 2**63 - 1, -(2**63)),
    *(2**64, 2**100, 1.5, True, None),
)
FLOATS = (0, 0.5, -1.0, 1.0, 2.0, 7, -0.0, 1e-30, 1e30, 1e300, math.nan, math.inf, -math.inf, None, True)
STRINGS = ("", "NCHW", "NHWC", "OIHW", "HWIO", "NCHW4c", "NCW", "NCDHW", "nonsense", "clip", "constant", "\u00e9", None)
EXTENTS = (0, 1, 1, 2, 3, 4, 4, 5, 7)


@dataclass(frozen=True)
class Tensor:
    """One argument; its value is made from its type, or is that of the accepted call it was taken from."""

    shape: tuple[int, ...]
    dtype: str
    value: Any = None

    def __str__(self) -> str:
        return f"Tensor[({', '.join(map(str, self.shape))}), {self.dtype}]" if self.shape else self.dtype


Argument = Tensor | tuple[Any, ...]


@dataclass(frozen=True)
class DrawnCall:
    """A call of an operator.

    Attributes:
        arguments: tensors, and tuples of them.
        attributes: as they stand in the text.
        constants: positions of arguments that are weights: their values are known when types are inferred.
    """

    operator: str
    arguments: tuple[Argument, ...]
    attributes: dict[str, Any]
    constants: frozenset[int] = frozenset()

    def text(self) -> str:
        """The module whose `@main` is the call."""
        params = ", ".join(f"%x{i}: {_type_text(a)}" for i, a in enumerate(self.arguments))
        inside = [f"%x{i}" for i in range(len(self.arguments))]
        inside += [f"{k}={literal(v)}" for k, v in self.attributes.items()]
        return f'#[version = "0.0.5"]\ndef @main({params}) {{\n  {self.operator}({", ".join(inside)})\n}}\n'

    def values(self, seed: int) -> list[Any]:
        """A value for each argument: small numbers, integers not negative, so that as indices they point somewhere."""
        rng = np.random.default_rng(seed)
        values = [_value(a, rng) for a in self.arguments]
        names = operators.get(self.operator).names_of_arguments(len(values)) if self.operator else ()
        for i, name in enumerate(names):
            if (
                self.operator.startswith(("nn.", "sparse_"))
                and isinstance(values[i], np.ndarray)
                and values[i].dtype.kind in "iu"
            ):
                values[i] = _rows_of_matrix(name, values[i], values[max(i - 1, 0)])
        return values


def literal(value: Any) -> str:
    """The value as an attribute's text."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, np.generic):
        return literal(value.item())
    return str(value)


def _type_text(a: Argument) -> str:
    if isinstance(a, Tensor):
        return str(a)
    inside = ", ".join(map(_type_text, a))
    return f"({inside},)" if len(a) == 1 else f"({inside})"


def _value(a: Argument, rng: np.random.Generator) -> Any:
    if isinstance(a, tuple):
        return tuple(_value(b, rng) for b in a)
    if a.value is not None:
        return a.value
    if a.dtype == "bool":
        return np.asarray(rng.integers(0, 2, a.shape)).astype("bool")
    if a.dtype.startswith(("int", "uint")):
        kind = a.dtype if a.dtype in DTYPES[: DTYPES.index("bfloat16")] else "int8"
        return np.asarray(rng.integers(0, 3, a.shape)).astype(kind)
    values = np.asarray(rng.integers(1, 9, a.shape) / 4)
    if a.dtype == "bfloat16":
        import ml_dtypes

        return values.astype(ml_dtypes.bfloat16)
    return values.astype(a.dtype if a.dtype in ("float16", "float32", "float64") else "float32")


def _rows_of_matrix(name: str, value: np.ndarray, before: Any) -> np.ndarray:
    """Indices of a sparse matrix that fit together: where rows end among the elements, and columns that exist."""
    if name.endswith("indptr") and value.ndim == 1 and isinstance(before, np.ndarray) and before.ndim:
        return np.linspace(0, before.shape[0], value.size).astype(value.dtype)
    if name in ("prev_shape", "new_shape"):
        return np.ones_like(value)
    return np.zeros_like(value) if name.endswith("indices") else value


# ---------------------------------------------------------------------------------------------------------------------
# Calls that the rule accepts


@cache
def accepted_calls(name: str) -> tuple[DrawnCall, ...]:
    """Calls of the operator that the other tests make, the same in each run."""
    calls: list[tuple[Any, Any]] = [(a, b) for _, a, b in cases.accepted_calls(name)]
    if name in structural_cases.DRAWINGS:
        rng = np.random.default_rng(len(name))
        calls += [structural_cases.draw_case(name, lambda a, b: rng.integers(a, b + 1)) for _ in range(8)]
    if name in drawing.NAMES:
        calls += _drawn_by_hypothesis(name)
    return tuple(
        DrawnCall(name, tuple(map(_tensor, values)), {k: v for k, v in attributes.items() if _has_text(v)})
        for values, attributes in calls
    )


def _drawn_by_hypothesis(name: str) -> list[tuple[Any, Any]]:
    import hypothesis
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis import strategies as st

    examples = []

    @settings(
        max_examples=8,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(st.data())
    def collect(data: Any) -> None:
        examples.append(drawing.drawn(data.draw, name))

    collect()
    return examples


def _tensor(value: Any) -> Argument:
    if isinstance(value, tuple | list):
        return tuple(map(_tensor, value))
    value = np.asarray(value)
    return Tensor(value.shape, value.dtype.name, value)


def _has_text(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_has_text, value))
    return value is None or isinstance(value, bool | int | float | str | np.generic)


# ---------------------------------------------------------------------------------------------------------------------
# Drawing


def names() -> list[str]:
    """Every operator, except those of lengths: checks before them hold what they need."""
    return sorted(cls.name for cls in operators if not cls.name.startswith("length."))


def draw_call(name: str, rng: random.Random) -> DrawnCall:
    """A call of the operator, often one that its rule accepts."""
    known = accepted_calls(name)
    drawn = rng.choice(known) if known and rng.random() < 0.8 else _from_nothing(name, rng)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3))):
        drawn = rng.choice(_MUTATIONS)(drawn, rng)
    weights = [i for i, a in enumerate(drawn.arguments) if isinstance(a, Tensor) and a.dtype in DTYPES[:12]]
    share = rng.choice((0, 0, 0.5, 1) if len(weights) > 1 else (0, 0, 0, 1))
    if name.startswith("qnn."):
        weights, share = [i for i in weights if i], rng.choice((1, 1, 1, 0.8))
    return replace(drawn, constants=frozenset(i for i in weights if rng.random() < share))


def _from_nothing(name: str, rng: random.Random) -> DrawnCall:
    cls = operators.get(name)
    count = rng.randint(0, 4) if cls.variadic else cls.arity
    shape, dtype = _shape(rng), _dtype(rng)
    arguments: list[Argument] = []
    for _ in range(count):
        one: Argument = Tensor(
            shape if rng.random() < 0.7 else _shape(rng), dtype if rng.random() < 0.8 else _dtype(rng)
        )
        arguments.append((one,) * rng.randint(0, 3) if rng.random() < 0.06 else one)
    attributes = {}
    hints = type_hints(cls)
    for f in cls.fields():
        if ("MISSING" in repr(f.default) and "MISSING" in repr(f.default_factory)) or rng.random() < 0.2:
            attributes[f.name] = corner(hints[f.name], rng)
    return DrawnCall(name, tuple(arguments), attributes)


def _shape(rng: random.Random) -> tuple[int, ...]:
    return tuple(rng.choice(EXTENTS) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4, 4, 5, 6))))


def _dtype(rng: random.Random) -> str:
    return rng.choice(DTYPES[:COMMON] if rng.random() < 0.7 else DTYPES)


def corner(hint: Any, rng: random.Random) -> Any:
    """A value at a corner of the kind of attribute."""
    options = [h for h in typing.get_args(hint) if h is not type(None)]
    if typing.get_origin(hint) is tuple:
        count = rng.choice((0, 1, 1, 2, 2, 3, 4, 4, 5, 6, 7))
        if rng.random() < 0.5:
            return [corner(options[0], rng)] * count
        return [corner(options[0], rng) if rng.random() < 0.3 else _plain(options[0], rng) for _ in range(count)]
    if options:
        return None if type(None) in typing.get_args(hint) and rng.random() < 0.2 else corner(options[0], rng)
    if hint is DType:
        return rng.choice(("", "void", "float7", None)) if rng.random() < 0.1 else _dtype(rng)
    if hint is bool:
        return rng.choice((True, False, 0, 1, 2))
    if hint is int:
        return rng.choice(INTEGERS[:9] if rng.random() < 0.7 else INTEGERS)
    if hint is float:
        return rng.choice(FLOATS)
    if hint is str:
        return rng.choice(STRINGS)
    return rng.choice((None, 0, 1, -1, 2, [], [1], [2, 2], "nonsense", 1.5, [[1, 1]], [[]]))


def _plain(hint: Any, rng: random.Random) -> Any:
    return rng.choice((0, 1, 1, 2, 3)) if hint in (int, float) else corner(hint, rng)


# Mutations


def _at(drawn: DrawnCall, argument_index: int, new: Argument) -> DrawnCall:
    return replace(drawn, arguments=(*drawn.arguments[:argument_index], new, *drawn.arguments[argument_index + 1 :]))


def _inside(a: Argument, change: Any) -> Argument:
    """The argument with each of its tensors changed."""
    return change(a) if isinstance(a, Tensor) else tuple(_inside(b, change) for b in a)


def _other_dtype(drawn: DrawnCall, rng: random.Random) -> DrawnCall:
    """One dtype becomes another: of one argument, or of all that have it."""
    flat = [t for a in drawn.arguments for t in _leaves(a)]
    if not flat:
        return drawn
    old, new = rng.choice(flat).dtype, _dtype(rng)
    if rng.random() < 0.6:

        def change(t: Tensor) -> Tensor:
            return Tensor(t.shape, new) if t.dtype == old else t

        return replace(drawn, arguments=tuple(_inside(a, change) for a in drawn.arguments))
    argument_index = rng.randrange(len(drawn.arguments))
    return _at(drawn, argument_index, _inside(drawn.arguments[argument_index], lambda t: Tensor(t.shape, new)))


def _other_shape(drawn: DrawnCall, rng: random.Random) -> DrawnCall:
    """One argument has an extent, an axis or a shape of another size; or all arguments of one shape have another."""
    flat = [t for a in drawn.arguments for t in _leaves(a)]
    if not flat:
        return drawn
    old = rng.choice(flat).shape
    new = list(old)
    kind = rng.randrange(5)
    if kind < 2 and new:
        new[rng.randrange(len(new))] = rng.choice(EXTENTS)
    elif kind == 2 and new:
        del new[rng.randrange(len(new))]
    elif kind == 3 and len(new) < 6:
        new.insert(rng.randint(0, len(new)), rng.choice(EXTENTS))
    else:
        new = list(_shape(rng) if rng.random() < 0.7 else rng.choice(flat).shape)

    def change(t: Tensor) -> Tensor:
        return Tensor(tuple(new), t.dtype) if t.shape == old else t

    if rng.random() < 0.5:
        return replace(drawn, arguments=tuple(_inside(a, change) for a in drawn.arguments))
    argument_index = rng.randrange(len(drawn.arguments))
    return _at(drawn, argument_index, _inside(drawn.arguments[argument_index], change))


def _empty(drawn: DrawnCall, rng: random.Random) -> DrawnCall:
    """What has some extent, has none of it, everywhere."""
    extents = sorted({d for a in drawn.arguments for t in _leaves(a) for d in t.shape})
    if not extents:
        return drawn
    old = rng.choice(extents)

    def change(t: Tensor) -> Tensor:
        shape = tuple(0 if d == old else d for d in t.shape)
        return t if shape == t.shape else Tensor(shape, t.dtype)

    return replace(drawn, arguments=tuple(_inside(a, change) for a in drawn.arguments))


def _other_attribute(drawn: DrawnCall, rng: random.Random) -> DrawnCall:
    """An attribute at a corner of its kind, or one of its parts, or without a value."""
    cls = operators.get(drawn.operator)
    if not cls.fields():
        return drawn
    name = rng.choice(cls.fields()).name
    attributes = dict(drawn.attributes)
    old = attributes.get(name)
    if old is not None and rng.random() < 0.15:
        del attributes[name]
    elif isinstance(old, list | tuple) and old and rng.random() < 0.7:
        parts = list(old)
        kind = rng.randrange(3)
        if kind == 0:
            parts = parts[:-1]
        elif kind == 1:
            parts.append(parts[-1])
        else:
            hint = int if isinstance(parts[0], int) else float if isinstance(parts[0], float) else str
            parts[rng.randrange(len(parts))] = corner(hint, rng)
        attributes[name] = parts
    else:
        attributes[name] = corner(type_hints(cls)[name], rng)
    return replace(drawn, attributes=attributes)


def _other_count(drawn: DrawnCall, rng: random.Random) -> DrawnCall:
    """Another number of fields in a tuple, or of arguments where any will do."""
    tuple_arguments = [i for i, a in enumerate(drawn.arguments) if isinstance(a, tuple)]
    if tuple_arguments:
        i = rng.choice(tuple_arguments)
        a = drawn.arguments[i]
        assert isinstance(a, tuple)
        return _at(drawn, i, a[:-1] if rng.random() < 0.5 or not a else (*a, a[0]))
    return _other_attribute(drawn, rng)


_MUTATIONS = (_other_dtype, _other_dtype, _other_shape, _other_shape, _empty, *[_other_attribute] * 5, _other_count)


def _leaves(a: Argument) -> list[Tensor]:
    return [a] if isinstance(a, Tensor) else [t for b in a for t in _leaves(b)]
