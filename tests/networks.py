"""Random small networks: `random_network(seed)` draws layers as they stand in real ones, and a few oddities between them.

Convolutions of several kinds, dense layers, normalisations, pools, branches that are joined again, scales in front of and
behind layers, quantized regions, casts, reshapes and transposes; weights are parameters or constants. One function, all
shapes static, no control flow (`generators.random_module` draws that).
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from irtool.ir import Constant, Expr, Function, Module, TensorType, Tuple, TupleGetItem, Var
from irtool.ops.base import call

Shape = tuple[int, ...]


class Network:
    """Draws one network. Every method takes an expression and its shape and returns another such pair."""

    def __init__(self, rng: random.Random, dtype: str = "float32") -> None:
        self.rng = rng
        self.dtype = dtype
        self.params: list[Var] = []
        self.count = 0

    def module(self, size: int) -> Module:
        """`size` layers on an image or a matrix, and a tuple of what they gave."""
        rng = self.rng
        shape: Shape = (1, rng.choice((2, 3, 4, 8)), rng.choice((4, 6, 8)), 8) if rng.random() < 0.7 else (3, 8)
        e: Expr = self.param("data", shape)
        layers_so_far = [(e, shape)]
        for left in range(size, 0, -1):
            e, shape = layers_so_far[-1] if rng.random() < 0.8 else rng.choice(layers_so_far)
            layers_so_far.append(rng.choice(self.layers(shape, left))(e, shape))
        outputs = [layers_so_far[-1], *rng.sample(layers_so_far[1:], rng.randint(0, min(2, size - 1)))]
        body = outputs[0][0] if len(outputs) == 1 else Tuple(tuple(e for e, _ in outputs))
        return Module({"main": Function(tuple(self.params), body)})

    def layers(self, shape: Shape, left: int) -> list[Callable[[Expr, Shape], tuple[Expr, Shape]]]:
        """What may come next, as often as it should; an image stays one until few layers are left."""
        every = [self.activation, self.scaled, self.residual, self.cast, self.quantized, self.joined, self.twice]
        if len(shape) == 4:
            every += [*[self.conv] * 4, *[self.scaled_conv] * 3, self.padded, self.parallel, self.pool, self.batch_norm]
            return [*every, self.flat, self.mean] if left < 4 else every
        every += [*[self.dense] * 3, self.quantized_dense, self.layer_norm, self.softmax, self.transposed]
        return [*every, self.product, self.split, self.parallel_dense]

    def param(self, name: str, shape: Shape, dtype: str = "") -> Var:
        v = Var(f"{name}{self.count or ''}", TensorType(shape, dtype or self.dtype))
        self.count += 1
        self.params.append(v)
        return v

    def weight(self, name: str, shape: Shape, positive: bool = False) -> Expr:
        """A parameter or a constant; parameters of rank 1 are positive when random inputs are made for them."""
        if self.rng.random() < 0.5:
            return self.param(name, shape)
        values = np.random.RandomState(self.rng.randrange(2**31)).uniform(0.5 if positive else -1, 1, shape)
        weight = Constant(values.astype(self.dtype))
        return call("multiply", weight, Constant(np.array(0.5, self.dtype))) if self.rng.random() < 0.2 else weight

    def scalar(self) -> Expr:
        return Constant(np.array(self.rng.choice((0.5, 2.0, -1.0, 0.0, 1.0)), self.dtype))

    def conv(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        n, c, h, w = shape
        k, depthwise = self.rng.choice((1, 3)), self.rng.random() < 0.25
        filters = c if depthwise else self.rng.choice((4, 8))
        kernel = self.weight("weight", (filters, 1 if depthwise else c, k, k))
        pad = (k // 2,) * 4
        e = call(
            "nn.conv2d", e, kernel, padding=pad, channels=filters, kernel_size=(k, k), groups=c if depthwise else 1
        )
        if self.rng.random() < 0.5:
            e = call("nn.bias_add", e, self.weight("bias", (filters,)))
        elif self.rng.random() < 0.5:
            e = call("add", e, self.weight("bias", (filters, 1, 1)))
        return e, (n, filters, h, w)

    def scaled_conv(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        """A scale of each channel before and behind the layer, as folding it into the weights likes them."""
        if self.rng.random() < 0.6:
            e = call("multiply", e, self.weight("scale", (shape[1], 1, 1), positive=True))
            e = call("nn.relu", e) if self.rng.random() < 0.5 else e
        e, shape = self.conv(e, shape)
        e = call("nn.relu", e) if self.rng.random() < 0.3 else e
        return call("multiply", e, self.weight("scale", (shape[1], 1, 1), positive=True)), shape

    def padded(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        n, c, h, w = shape
        kernel = self.weight("weight", (4, c, 3, 3))
        e = call("nn.pad", e, Constant(np.array(0, self.dtype)), pad_width=((0, 0), (0, 0), (1, 1), (1, 1)))
        return call("nn.conv2d", e, kernel, padding=(0, 0, 0, 0), channels=4, kernel_size=(3, 3)), (n, 4, h, w)

    def parallel(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        n, c, h, w = shape
        branches = []
        for filters in (2, 4, 2):
            b = call("nn.conv2d", e, self.weight("weight", (filters, c, 1, 1)), channels=filters, kernel_size=(1, 1))
            branches.append(call("nn.relu", b) if self.rng.random() < 0.7 else b)
        return call("concatenate", Tuple(tuple(branches)), axis=1), (n, 8, h, w)

    def pool(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        n, c, h, w = shape
        if h < 2:
            return call("nn.relu", e), shape
        kind = self.rng.choice(("nn.max_pool2d", "nn.avg_pool2d"))
        return call(kind, e, pool_size=(2, 2), strides=(2, 2), padding=(0, 0, 0, 0)), (n, c, h // 2, w // 2)

    def batch_norm(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        gamma, beta, mean = (self.weight(name, (shape[1],)) for name in ("gamma", "beta", "mean"))
        variance = self.weight("var", (shape[1],), positive=True)
        flags = {"scale": self.rng.random() < 0.8, "center": self.rng.random() < 0.8}
        return TupleGetItem(call("nn.batch_norm", e, gamma, beta, mean, variance, axis=1, **flags), 0), shape

    def flat(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        n, c, h, w = shape
        if self.rng.random() < 0.5:
            e = call("nn.global_avg_pool2d", e)
            h = w = 1
        return call("nn.batch_flatten", e), (n, c * h * w)

    def mean(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        return call("mean", e, axis=(2, 3)), shape[:2]

    def dense(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        units = self.rng.choice((4, 8))
        e = call("nn.dense", e, self.weight("weight", (units, shape[1])), units=units)
        if self.rng.random() < 0.5:
            e = call("nn.bias_add", e, self.weight("bias", (units,)))
        return e, (shape[0], units)

    def quantized_dense(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        """A dense layer on dequantized operands; what comes out is real, or quantized again."""
        small, zero = Constant(np.array(0.125, "float32")), Constant(np.array(0, "int32"))
        q = call("qnn.quantize", call("cast", e, dtype="float32"), small, zero, out_dtype="int8")
        values = np.random.RandomState(self.rng.randrange(2**31)).randint(-8, 8, (4, shape[1]))
        weight = call("qnn.dequantize", Constant(values.astype("int8")), small, zero)
        real = call("nn.dense", call("qnn.dequantize", q, small, zero), weight, units=4)
        if self.rng.random() < 0.5:
            q = call("qnn.quantize", call("nn.relu", real), Constant(np.array(0.5, "float32")), zero, out_dtype="int8")
            real = call("qnn.dequantize", q, Constant(np.array(0.5, "float32")), zero)
        return call("cast", real, dtype=self.dtype), (shape[0], 4)

    def parallel_dense(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        branches = [call("nn.dense", e, self.weight("weight", (4, shape[1])), units=4) for _ in range(3)]
        total = call("add", call("nn.relu", branches[0]), call("nn.relu", branches[1]))
        return call("subtract", total, branches[2]), (shape[0], 4)

    def layer_norm(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        return call("nn.layer_norm", e, self.weight("gamma", shape[-1:]), self.weight("beta", shape[-1:])), shape

    def softmax(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        return call("nn.softmax", e), shape

    def transposed(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        e = call("transpose", e, axes=(1, 0))
        if self.rng.random() < 0.5:
            return call("transpose", e, axes=(-1, 0)), shape
        return e, shape[::-1]

    def product(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        left = call("reshape", e, newshape=(1, *shape))
        product = call("nn.batch_matmul", left, self.weight("weight", (1, shape[1], 4)))
        return call("squeeze", product, axis=(0,)), (shape[0], 4)

    def split(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        if shape[1] % 2:
            return call("tanh", e), shape
        parts = call("split", e, indices_or_sections=2, axis=1)
        return call("subtract", TupleGetItem(parts, 0), TupleGetItem(parts, 1)), (shape[0], shape[1] // 2)

    def activation(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        kind = self.rng.choice(("nn.relu", "tanh", "sigmoid", "exp", "erf", "clip", "dropout"))
        if kind == "dropout":
            return TupleGetItem(call("nn.dropout", e), 0), shape
        if kind == "clip":
            return call("clip", e, a_min=-1.0, a_max=1.0), shape
        return call(kind, call("clip", e, a_min=-4.0, a_max=4.0) if kind == "exp" else e), shape

    def scaled(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        kind = self.rng.choice(("multiply", "add", "subtract"))
        if len(shape) == 4 and self.rng.random() < 0.7:
            return call(kind, e, self.weight("scale", (shape[1], 1, 1))), shape
        return call(kind, e, self.scalar()), shape

    def residual(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        return call("add", e, call("nn.relu", e)), shape

    def joined(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        joined = call("concatenate", Tuple((e, call("negative", e))), axis=1)
        return joined, (shape[0], 2 * shape[1], *shape[2:])

    def twice(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        """The same computation written twice."""
        first, again = (call("sigmoid", call("negative", e)) for _ in range(2))
        return call("multiply", first, again), shape

    def cast(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        return call("cast", call("cast", e, dtype="float64"), dtype=self.dtype), shape

    def quantized(self, e: Expr, shape: Shape) -> tuple[Expr, Shape]:
        """Through eight bits: steps of a power of two, so that integers and floats round alike."""
        scale, zero = Constant(np.array(0.0625, "float32")), Constant(np.array(3, "int32"))
        q = call("qnn.quantize", call("cast", e, dtype="float32"), scale, zero, out_dtype="int8")
        real = call("qnn.dequantize", q, scale, zero)
        kind = self.rng.choice(("nn.relu", "transposed", "reshape"))
        if kind == "nn.relu":
            real = call("nn.relu", real)
        elif kind == "reshape":
            real = call("reshape", real, newshape=(*shape, 1))
            real = call("squeeze", real, axis=(len(shape),))
        q = call("qnn.quantize", real, scale, zero, out_dtype="int8")
        return call("cast", call("qnn.dequantize", q, scale, zero), dtype=self.dtype), shape


def random_network(seed: int, size: int = 8, dtype: str = "float32") -> Module:
    """A network; the same for the same arguments. Types are not inferred."""
    return Network(random.Random(seed), dtype).module(size)
