"""Random numbers, which a program of Relay draws from a generator that it is given: here from one that stands in the text.

ONNX does not say which numbers a seed stands for, nor that two runs draw others. Relay's operators compute the next numbers of a
generator, so the same inputs give the same result: each run draws the same numbers, and so does each turn of a loop.
"""

from __future__ import annotations

import math
from typing import Any

from ....deferred import np
from ....diagnostics import IrError
from ....ir import TupleGetItem
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..room import require_shape
from ..tensors import dtype_of
from ..value import Value, apply

_WORDS = 10
_FLOATS = ("float32", "float64")


def generator(seed: float | None, count: int) -> Value:
    """The generator of a node, as TVM's `threefry_key` makes one of a seed.

    A seed is the number itself if it is a natural one, as in TVM's importer, else its bits as a float32. The node without a seed
    that is the `count`-th has that number in a second word, so that no two nodes without a seed draw the same numbers.
    """
    words = [0] * _WORDS
    words[8] = 1 << 63
    if seed is None:
        words[0:2] = count, 1
    else:
        is_natural = math.isfinite(seed) and 0 <= seed < 1 << 64 and seed == int(seed)
        words[0] = int(seed) if is_natural else int(np.array(seed, "float32").view("uint32"))
    return Value.constant(np.array(words, "uint64"))


class Drawn(OnnxOperator):
    """Base: a node that draws numbers, of which the user is told."""

    folds = False

    def draw(self, name: str, seed: float | None, *args: Value, **attributes: Any) -> Value:
        """The numbers of one of Relay's operators."""
        functions = self.graph.functions
        functions.drawing[self.node] = None
        functions.unseeded += seed is None
        key = generator(seed, functions.unseeded)
        return Value.of(TupleGetItem(apply(name, key, *args, **attributes).expr, 1))

    def distributed(
        self, name: str, first: float, second: float, shape: tuple[int, ...], dtype: str, seed: float | None
    ) -> Value:
        """Numbers of a distribution with two parameters, in a type that Relay draws, converted to `dtype`."""
        require_shape(shape, f"the result of {self.node.op_type}")
        held = dtype if dtype in _FLOATS else "float32"
        limits = (Value.constant(np.array(x, held)) for x in (first, second))
        found = self.draw(name, seed, *limits, out_shape=shape, out_dtype=held)
        return found if held == dtype else found.call("cast", dtype=dtype)


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
        wanted = dtype_of(dtype, f"the result of {self.node.op_type}")
        if self.node.key.op_type == "RandomNormal":
            return self.distributed("random.normal", mean, scale, shape, wanted, seed)
        return self.distributed("random.uniform", low, high, shape, wanted, seed)


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
        shape = x.extents(f"the input of {self.node.op_type}")
        wanted = x.dtype if dtype is None else dtype_of(dtype, f"the result of {self.node.op_type}")
        if self.node.key.op_type == "RandomNormalLike":
            return self.distributed("random.normal", mean, scale, shape, wanted, seed)
        return self.distributed("random.uniform", low, high, shape, wanted, seed)


@onnx_operator("Bernoulli")
class Bernoulli(Drawn):
    """One where a number between 0 and 1 is below the probability."""

    @since(15, 22)
    def numbers(self, x: Value, *, dtype: int | None = None, seed: float | None = None) -> Result:
        shape = x.extents("the probabilities of Bernoulli")
        wanted = x.dtype if dtype is None else dtype_of(dtype, "the result of Bernoulli")
        held = x.dtype if x.dtype in _FLOATS else "float32"
        drawn = self.distributed("random.uniform", 0.0, 1.0, shape, held, seed)
        limit = x if held == x.dtype else x.call("cast", dtype=held)
        return drawn.call("less", limit).call("cast", dtype=wanted)


@onnx_operator("Multinomial")
class Multinomial(Drawn):
    """Indices drawn with probabilities whose logarithms, up to a number for each row, are given."""

    @since(7, 22)
    def numbers(self, x: Value, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Result:
        batch, classes = x.extents("the probabilities of Multinomial", 2)
        if not classes:
            raise IrError("Multinomial has no classes to choose from", code=DamagedModel)
        require_shape((batch, sample_size), "the result of Multinomial")
        held = x if x.dtype in _FLOATS else x.call("cast", dtype="float32")
        drawn = self.draw("random.multinomial", seed, held.call("nn.softmax", axis=-1), num_samples=sample_size)
        return drawn.call("cast", dtype=dtype_of(dtype, "the result of Multinomial"))
