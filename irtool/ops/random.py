"""Random numbers. Every operator takes a generator (ten uint64 words, see `threefry`) and gives the next one back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, TupleType, Type
from ..tir.stmt import PARALLEL
from .base import VOID, DType, Operator, Pattern, RelationError, Reporter, operator
from .conversion import convert
from .dtypes import numpy_dtype
from .rows import rows
from .search import count_leading
from .shapes import require_number, tensor
from .threefry import ALL_ONES, STATE, generate, hash_words, split


def _key() -> TensorType:
    """The type of a generator; an object of its own for each, since inference follows the object."""
    return TensorType((STATE,), "uint64")


def _word(value: int) -> Any:
    return te.const(value, "uint64")


def _store_next_marker(ib: Any, source: Any, target: Any) -> None:
    high, low = ib.let(source[8]), ib.let(source[9])
    one, zero = _word(1), _word(0)
    moved = te.select(high == one, _word(1 << 63), te.select(high == zero, low >> one, zero))
    ib.store(target, (8,), te.select(high == one, zero, high >> one))
    ib.store(target, (9,), moved)


def _hash_at(ib: Any, state: Any, counter: Sequence[Any]) -> list[Any]:
    return hash_words([ib.let(state[j]) for j in range(4)], counter, _word, ib.let)


def words(gen: Any, count: int) -> tuple[Any, Any]:
    """te tensors: the next generator, and a vector of `count` random words. Raises RelationError for a count that only the run knows."""
    require_number(count, "how many numbers are drawn")

    def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
        generator, (state, numbers) = ins[0], outs
        with ib.for_(STATE) as i:
            ib.store(state, (i,), generator[i])
        with ib.if_(te.logical_not(generator[7] < _word(ALL_ONES - count))):
            with ib.if_(te.all(generator[8] == _word(0), generator[9] == _word(0))):
                for j, word in enumerate(_hash_at(ib, generator, [_word(ALL_ONES)] * 4)):
                    ib.store(state, (j,), word)
                for j, number in enumerate([0, 0, 0, 0, 1 << 63, 0]):
                    ib.store(state, (4 + j,), _word(number))
            with ib.else_():
                ib.store(state, (4,), generator[4] | generator[8])
                ib.store(state, (5,), generator[5] | generator[9])
                ib.store(state, (6,), _word(0))
                ib.store(state, (7,), _word(0))
                _store_next_marker(ib, generator, state)
        blocks, rest = divmod(count, 4)
        with ib.for_(blocks) as i:
            counter = [ib.let(state[4 + j] + te.cast(i, "uint64")) for j in range(4)]
            for j, word in enumerate(_hash_at(ib, state, counter)):
                ib.store(numbers, (i * 4 + j,), word)
        if rest:
            ib.store(state, (7,), state[7] + _word(blocks * 4))
            last = _hash_at(ib, state, [ib.let(state[4 + j]) for j in range(4)])
            for j in range(rest):
                ib.store(numbers, (blocks * 4 + j,), last[j])
        ib.store(state, (6,), _word(0))
        ib.store(state, (7,), state[7] + _word(4 if rest else count))

    return te.extern([(STATE,), (count,)], [gen], fill, dtype=["uint64", "uint64"], name="threefry_generate")


def _shaped(flat: Any, shape: Sequence[int], element: Any) -> Any:
    """The te tensor of `element(flat[position])`, positions counted through `shape` in row-major order."""

    def element_of(*i: Any) -> Any:
        position: Any = te.const(0, "int32")
        for index, extent in zip(i, shape, strict=True):
            position = position * extent + index
        return element(flat, position)

    return te.compute(tuple(shape), element_of, tag="injective")


@operator("random.threefry_generate", "key", pattern=Pattern.OPAQUE, attrs="ThreefryGenerateAttrs")
@dataclass(frozen=True)
class ThreefryGenerate(Operator):
    """The next generator, and uint64 random numbers of shape `out_shape`."""

    differentiable = False

    out_shape: tuple[int, ...]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of a key, `uint64 (10)`, and uint64 numbers of `out_shape`."""
        reporter.assign(0, _key())
        return TupleType((_key(), TensorType(self.out_shape, "uint64")))

    def evaluate(self, key: np.ndarray) -> Any:
        state, numbers = generate(key, math.prod(self.out_shape))
        return state, numbers.reshape(self.out_shape)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        state, numbers = words(inputs[0], math.prod(self.out_shape))
        return [state, _shaped(numbers, self.out_shape, lambda flat, index: flat[index])]


@operator("random.threefry_split", "key", pattern=Pattern.OPAQUE)
@dataclass(frozen=True)
class ThreefrySplit(Operator):
    """Splits a generator into two."""

    differentiable = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of two keys, `uint64 (10)`."""
        reporter.assign(0, _key())
        return TupleType((_key(), _key()))

    def evaluate(self, key: np.ndarray) -> Any:
        return split(key)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            gen, (left, right) = ins[0], outs
            with ib.if_(te.all(gen[8] == _word(0), gen[9] == _word(0))):
                key = _hash_at(ib, gen, [ib.let(gen[4 + j]) for j in range(4)])
                for out, path in ((left, 0), (right, 1 << 63)):
                    for j, word in enumerate([*key, *map(_word, (path, 0, 0, 0, 1 << 62, 0))]):
                        ib.store(out, (j,), word)
            with ib.else_():
                with ib.for_(8) as i:
                    ib.store(left, (i,), gen[i])
                    ib.store(right, (i,), gen[i])
                ib.store(right, (4,), gen[4] | gen[8])
                ib.store(right, (5,), gen[5] | gen[9])
                _store_next_marker(ib, gen, left)
                _store_next_marker(ib, gen, right)

        shapes = [(STATE,), (STATE,)]
        return list(te.extern(shapes, inputs, fill, dtype=["uint64", "uint64"], name="threefry_split"))


_FRACTION_BITS = {"float32": 23, "float64": 52}


def to_unit(numbers: np.ndarray, dtype: str) -> np.ndarray:
    """Random words as numbers of [0, 1): their upper bits become the fraction of a float in [1, 2), less 1."""
    width = 8 * np.dtype(dtype).itemsize
    fraction = _FRACTION_BITS[dtype]
    bits = numbers.astype(f"uint{width}")
    one = np.array(1, dtype).view(bits.dtype)
    return ((bits >> bits.dtype.type(width - fraction)) | one).view(dtype) - np.array(1, dtype)


def _unit_element(number: Any, dtype: str) -> Any:
    width, fraction = (32, 23) if dtype == "float32" else (64, 52)
    integer = f"uint{width}"
    one = te.const(int(np.array(1, dtype).view(integer)), integer)
    bits = (te.cast(number, integer) >> te.const(width - fraction, integer)) | one
    return te.reinterpret(dtype, bits) - te.const(1.0, dtype)


class _Distribution(Operator):
    """Base of `uniform` and `normal`: two scalars of `out_dtype` say which distribution of the kind it is."""

    differentiable = False

    out_shape: Any
    out_dtype: Any

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of a key, `uint64 (10)`, and numbers of `out_shape` and `out_dtype`, whose scalars both limits are."""
        if self.out_dtype not in _FRACTION_BITS:
            raise RelationError(f"random numbers are float32 or float64, not {self.out_dtype or 'void'}")
        reporter.assign(0, _key())
        reporter.assign(1, TensorType((), self.out_dtype))
        reporter.assign(2, TensorType((), self.out_dtype))
        return TupleType((_key(), TensorType(self.out_shape, self.out_dtype)))


@operator("random.uniform", "key", "low", "high", pattern=Pattern.OPAQUE, attrs="UniformAttrs")
@dataclass(frozen=True)
class Uniform(_Distribution):
    """The next generator, and uniformly distributed numbers, from `low` inclusive to `high` exclusive."""

    out_shape: tuple[int, ...]
    out_dtype: DType = VOID

    def evaluate(self, key: np.ndarray, low: np.ndarray, high: np.ndarray) -> Any:
        state, numbers = generate(key, math.prod(self.out_shape))
        unit = to_unit(numbers, self.out_dtype).reshape(self.out_shape)
        return state, convert(unit * (high - low) + low, self.out_dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        key, low, high = inputs
        state, numbers = words(key, math.prod(self.out_shape))

        def element(flat: Any, index: Any) -> Any:
            return _unit_element(flat[index], self.out_dtype) * (high[()] - low[()]) + low[()]

        return [state, _shaped(numbers, self.out_shape, element)]


@operator("random.normal", "key", "mean", "scale", pattern=Pattern.OPAQUE, attrs="NormalAttrs")
@dataclass(frozen=True)
class Normal(_Distribution):
    """The next generator, and normally distributed numbers with the given mean and standard deviation.

    By the method of Box and Muller, with the sine of each pair: `sqrt(-2 log(1 - u)) * sin(2 pi v)`.
    """

    out_shape: tuple[int, ...]
    out_dtype: DType = VOID

    def evaluate(self, key: np.ndarray, mean: np.ndarray, scale: np.ndarray) -> Any:
        state, numbers = generate(key, 2 * math.prod(self.out_shape))
        t = numpy_dtype(self.out_dtype).type
        u, v = to_unit(numbers, self.out_dtype).reshape(2, *self.out_shape)
        drawn = np.sqrt(t(-2) * np.log(t(1) - u)) * np.sin(t(2 * math.pi) * v)
        return state, convert(drawn * scale + mean, self.out_dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        key, mean, scale = inputs
        count, dtype = math.prod(self.out_shape), self.out_dtype
        state, numbers = words(key, 2 * count)

        def element(flat: Any, index: Any) -> Any:
            u, v = _unit_element(flat[index], dtype), _unit_element(flat[index + count], dtype)
            size = te.sqrt(te.const(-2.0, dtype) * te.log(te.const(1.0, dtype) - u))
            return size * te.sin(te.const(2 * math.pi, dtype) * v) * scale[()] + mean[()]

        return [state, _shaped(numbers, self.out_shape, element)]


@operator("random.multinomial", "key", "probs", pattern=Pattern.OPAQUE, attrs="MultinomialAttrs")
@dataclass(frozen=True)
class Multinomial(Operator):
    """The next generator, and `num_samples` indices for each row of `probs`, drawn with the probabilities in the row.

    Rows need not sum to one; entries below zero count as zero. The index is the first whose cumulative probability is
    above a uniform number.
    """

    differentiable = False

    num_samples: int = 1

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A tuple of a key, `uint64 (10)`, and int32 numbers: the leading axes of the probabilities, then
        `num_samples`.
        """
        probabilities = tensor(types[1], "probs")
        if probabilities is None:
            return None
        if not probabilities.shape:
            raise RelationError("probs must have at least one axis")
        reporter.require_elements(probabilities.shape[-1:], (), "probs has no entries to choose from")
        reporter.assign(0, _key())
        return TupleType((_key(), TensorType((*probabilities.shape[:-1], self.num_samples), "int32")))

    def evaluate(self, key: np.ndarray, probs: np.ndarray) -> Any:
        if probs.shape[-1] == 0:
            raise IrError("probs has no entries to choose from")
        shape = (*probs.shape[:-1], int(self.num_samples))
        state, numbers = generate(key, math.prod(shape))
        drawn = to_unit(numbers, "float32").reshape(shape)
        weights = probs.astype("float32")
        weights = np.where(weights > 0, weights, np.float32(0))  # of NaN and 0 the maximum that C computes is 0
        with np.errstate(all="ignore"):
            cumulative = np.cumsum(weights / weights.sum(-1, keepdims=True), axis=-1, dtype="float32")
        is_above = cumulative[..., :, None] > drawn[..., None, :]
        return state, np.argmax(is_above, axis=-2).astype("int32")

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        key, probs = inputs
        shape = (*probs.shape[:-1], int(self.num_samples))
        state, numbers = words(key, math.prod(shape))
        drawn = _shaped(numbers, shape, lambda flat, index: _unit_element(flat[index], "float32"))
        k, zero = te.reduce_axis(probs.shape[-1], name="k"), te.const(0.0, "float32")

        def weight(*i: Any) -> Any:
            return te.maximum(te.cast(probs[i], "float32"), zero)

        total = te.compute(probs.shape[:-1], lambda *i: te.sum(weight(*i, k), axis=k))
        share = te.compute(probs.shape, lambda *i: weight(*i) / total[i[:-1]])
        one_row = probs.shape[-1]

        def add_up(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            with rows(ib, probs.shape, probs.ndim - 1) as row:
                part = ib.local("float32", te.const(0.0, "float32"))
                with ib.for_(one_row) as n:
                    part.set(part.get() + ins[0][row(n)])
                    ib.store(outs[0], row(n), part.get())

        def choose(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            cumulative, numbers = ins
            with rows(ib, shape, len(shape) - 1, PARALLEL) as row, ib.for_(shape[-1]) as n:
                number = ib.let(numbers[row(n)])
                place = count_leading(ib, one_row, lambda k: te.logical_not(cumulative[(*row(n)[:-1], k)] > number))
                ib.store(outs[0], row(n), te.select(place < one_row, place, te.const(0, "int32")))  # no sum is above it

        cumulative = te.extern(probs.shape, [share], add_up, dtype="float32", name="cumulative")
        return [state, te.extern(shape, [cumulative, drawn], choose, dtype="int32", name="choice")]
