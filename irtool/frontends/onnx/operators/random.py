"""Random numbers, which a program of Relay draws from a generator that it is given: here from one that stands in the text.

ONNX does not say which numbers a seed stands for, nor that two runs draw others. Relay's operators compute the next numbers of a
generator, so the same inputs give the same result: each run draws the same numbers, and so does each turn of a loop. They take a
shape that is known; where it is not, numbers are hashes of their positions (`hashing`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....deferred import np
from ....diagnostics import IrError
from ....ir import TupleGetItem
from ....ops.threefry import first_state, generate
from ..arithmetic import add, cast, multiply, scalar, subtract
from ..memory_limit import require_shape
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..tensors import dtype_of
from ..value import Value, apply
from . import run_time_random

_FLOATS = ("float32", "float64")
Shape = Sequence[int] | Value


def generator(seed: float | None, count: int) -> Value:
    """The generator of a node, as TVM's `threefry_key` makes one of a seed.

    A seed is the number itself if it is a natural one, as in TVM's importer, else its bits as a float32. The node without a seed
    that is the `count`-th has that number in a second word, so that no two nodes without a seed draw the same numbers.
    """
    if seed is None:
        return Value.constant(first_state(count | 1 << 64))
    is_natural = math.isfinite(seed) and 0 <= seed < 1 << 64 and seed == int(seed)
    return Value.constant(first_state(int(seed) if is_natural else int(np.array(seed, "float32").view("uint32"))))


class Drawn(OnnxOperator):
    """Base: a node that draws numbers, of which the user is told."""

    folds = False

    def key(self, seed: float | None) -> Value:
        """The generator of the node."""
        functions = self.graph.functions
        functions.drawing[self.node] = None
        functions.unseeded += seed is None
        return generator(seed, functions.unseeded)

    def draw(self, name: str, seed: float | None, *args: Value, **attributes: Any) -> Value:
        """The numbers of one of Relay's operators."""
        return Value.of(TupleGetItem(apply(name, self.key(seed), *args, **attributes).expr, 1))

    def normal(self, shape: Shape, dtype: str, seed: float | None, mean: float = 0.0, scale: float = 1.0) -> Value:
        """Normally distributed numbers of a shape, or of that of a tensor."""
        compute_dtype = dtype if dtype in _FLOATS else "float32"
        mean_, scale_ = scalar(mean, compute_dtype), scalar(scale, compute_dtype)
        if (static := self._static(shape)) is not None:
            drawn = self.draw("random.normal", seed, mean_, scale_, out_shape=static, out_dtype=compute_dtype)
        else:
            drawn = add(multiply(run_time_random.normal(*self._hashed(shape, seed, 4), compute_dtype), scale_), mean_)
        return cast(drawn, dtype)

    def uniform(self, shape: Shape, dtype: str, seed: float | None, low: float = 0.0, high: float = 1.0) -> Value:
        """Uniformly distributed numbers of a shape, or of that of a tensor."""
        compute_dtype = dtype if dtype in _FLOATS else "float32"
        low_, high_ = scalar(low, compute_dtype), scalar(high, compute_dtype)
        if (static := self._static(shape)) is not None:
            drawn = self.draw("random.uniform", seed, low_, high_, out_shape=static, out_dtype=compute_dtype)
        else:
            drawn = run_time_random.uniform(*self._hashed(shape, seed, 2), compute_dtype)
            drawn = add(multiply(drawn, subtract(high_, low_)), low_)
        return cast(drawn, dtype)

    def _static(self, shape: Shape) -> tuple[int, ...] | None:
        """The extents, where all of them are known. Raises IrError for some that no tensor has."""
        extents = shape.shape if isinstance(shape, Value) else shape
        known = tuple(d for d in extents if isinstance(d, int))
        if len(known) < len(extents):
            return None
        require_shape(known, f"the result of {self.node.op_type}")
        return known

    def _hashed(self, like: Shape, seed: float | None, word_count: int) -> tuple[Value, np.ndarray]:
        assert isinstance(like, Value)
        return run_time_random.positions(like), generate(self.key(seed).array("the generator"), word_count)[1]


@onnx_operator("RandomNormal", "RandomUniform")
class OfShape(Drawn):
    """Numbers of a shape that is an attribute."""

    @since(1, 22)
    def numbers(
        self,
        *,
        dtype: int = 1,
        shape: tuple[int, ...],
        seed: float | None = None,
        mean: float = 0.0,
        scale: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
    ) -> Result:
        result_dtype = dtype_of(dtype, f"the result of {self.node.op_type}")
        if self.node.key.op_type == "RandomNormal":
            return self.normal(shape, result_dtype, seed, mean, scale)
        return self.uniform(shape, result_dtype, seed, low, high)


@onnx_operator("RandomNormalLike", "RandomUniformLike")
class OfShapeLike(Drawn):
    """Numbers of the shape, and unless an attribute says another of the type, of a tensor."""

    @since(1, 22)
    def numbers(
        self,
        x: Value,
        *,
        dtype: int | None = None,
        seed: float | None = None,
        mean: float = 0.0,
        scale: float = 1.0,
        low: float = 0.0,
        high: float = 1.0,
    ) -> Result:
        result_dtype = x.dtype if dtype is None else dtype_of(dtype, f"the result of {self.node.op_type}")
        if self.node.key.op_type == "RandomNormalLike":
            return self.normal(x, result_dtype, seed, mean, scale)
        return self.uniform(x, result_dtype, seed, low, high)


@onnx_operator("Bernoulli")
class Bernoulli(Drawn):
    """One where a number between 0 and 1 is below the probability."""

    @since(15, 22)
    def numbers(self, x: Value, *, dtype: int | None = None, seed: float | None = None) -> Result:
        result_dtype = x.dtype if dtype is None else dtype_of(dtype, "the result of Bernoulli")
        compute_dtype = x.dtype if x.dtype in _FLOATS else "float32"
        return cast(self.uniform(x, compute_dtype, seed).call("less", cast(x, compute_dtype)), result_dtype)


@onnx_operator("Multinomial")
class Multinomial(Drawn):
    """Indices drawn with probabilities whose logarithms, up to a number for each row, are given."""

    @since(7, 22)
    def numbers(self, x: Value, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Result:
        batch, classes = x.extents("the probabilities of Multinomial", 2)
        if not classes:
            raise IrError("Multinomial has no classes to choose from", code=DamagedModel)
        require_shape((batch, sample_size), "the result of Multinomial")
        logits = x if x.dtype in _FLOATS else x.call("cast", dtype="float32")
        drawn = self.draw("random.multinomial", seed, logits.call("nn.softmax", axis=-1), num_samples=sample_size)
        return drawn.call("cast", dtype=dtype_of(dtype, "the result of Multinomial"))
