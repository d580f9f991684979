"""`quantize_weights`: the weights of matrix products and tables in 4 or 8 bits, with a scale for each block.

Activations stay as they are, or are quantized block by block, too, so that products are sums of integers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..deferred import np
from ..diagnostics import IrError, Span, UsageError
from ..driver.precision import RANDOM, Calibration, Progress
from ..ir import Call, Constant, Expr, Function, Module, TupleGetItem, post_order, rewrite
from ..ir.dims import is_number
from ..ir.ndarray import storage
from ..ops.base import attributes_of, call, is_call_to
from ..ops.dtypes import dtype_of
from ..passes import run_passes
from ..passes.core.constants import has_data
from ..passes.qdq_insertion.layers import aliases_of, matches, name_calls
from .errors import Noise, measure
from .mistakes import NotFinite, NothingToQuantize, WrongQuantization
from .naming import lift_constants
from .prepare import prepare
from .quantizing import Quantized
from .report import LayerReport, Report
from .samples import samples_of

LARGEST = {"int4": 8, "int8": 127}
"""The number that the weight of the largest magnitude in a block becomes; of 4 bits the least one, -8, of 8 bits either end."""
SMALL = 64
"""Tables of less than this part of all weights stay: those of cosines and sines of positions, which little is gained by and much depends on."""
_HALVES = 2.0**-14, 65504.0
"""The least and the greatest magnitude of a normal float16."""


@dataclass(frozen=True)
class WeightOptions:
    """Options of `quantize_weights`.

    Attributes:
        dtype: `int4` or `int8`; empty: weights are in blocks already, and stay.
        block: weights along the summed axis that share a scale.
        activations: `float`, or `int8`: the data of products are quantized in the blocks of their weights.
        keep: regular expressions; layers whose name one of them matches as a whole stay as they are.
        samples: how many random inputs errors are measured on if no samples are given.
        seed: of random inputs.
        report: whether errors of results are measured, beside those of weights.
        via: the engine of the network, as in `QuantizeOptions`.
    """

    dtype: str = "int4"
    block: int = 32
    activations: str = "float"
    keep: tuple[str, ...] = ()
    samples: int = 4
    seed: int = 0
    report: bool = True
    via: str = ""

    def check(self) -> None:
        """Raises UsageError for an unknown value."""
        if self.activations not in ("float", "int8"):
            raise UsageError(f"activations are float or int8, not {self.activations!r}", code=WrongQuantization)
        if self.dtype not in LARGEST and (self.dtype or self.activations == "float"):
            raise UsageError(f"weights are int4 or int8, not {self.dtype!r}", code=WrongQuantization)
        if not 1 <= self.block <= 1 << 20:
            raise UsageError(f"a block has 1 to {1 << 20} weights, not {self.block}", code=WrongQuantization)
        for pattern in self.keep:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"{pattern!r} is no regular expression: {error}", code=WrongQuantization) from None


def quantize_weights(
    module: Module,
    params: Mapping[str, Any] | None = None,
    samples: Calibration = RANDOM,
    options: WeightOptions | None = None,
    *,
    entry: str = "main",
    progress: Progress | None = None,
) -> Quantized:
    """Rounds the weights of dense layers, batches of products and tables to 4 or 8 bits, with a scale in float16 for each block.

    The scale of a block is its weight of the largest magnitude divided by -8 (int4) or its magnitude divided by 127 (int8), in float32 where
    one of them is no normal float16. Products of int8 activations have weights of 4 bits as `uint4` with the zero 8: dot-product instructions
    take them so. Weights that are in blocks already, of packed models, stay as they are.

    Args:
        samples: inputs that errors are measured on; nothing else follows from them.

    Returns the module, its weights, and a report with the ratio of signal to noise of each layer's weights, of its result and of the outputs.

    Raises IrError if there is nothing to quantize, and for weights and samples that are not finite; UsageError for a wrong option.
    """
    options = options or WeightOptions()
    options.check()
    # Scales of normalizations that prepare has moved into weights go back: packed weights with a factor are in blocks no more.
    prepared = run_passes(prepare(module, params, entry), "UnfoldScaleAxis,InferType", opt_level=3)
    function = prepared.functions[entry]
    assert isinstance(function, Function)
    rounding = _Rounding(function, options)
    inputs = samples_of(function, prepared, samples, options.samples, options.seed) if options.report else []
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count, len(inputs))

    rows = [LayerReport(x.name, x.op, (*x.aliases, "")[0], "", weights_snr=x.snr) for x in rounding.plan.layers]
    report = Report(tuple(rows), rounding.left, len(inputs), _method(options))
    if inputs:
        report = report.with_errors(measure(prepared, entry, rounding, inputs, options.via, step, "qdq"))
        report = replace(report, held_out=len(inputs))
    result = run_passes(prepared.with_function(entry, rounding.function), "InferType")
    return Quantized(*lift_constants(result, entry), report)


@dataclass(frozen=True)
class BlockLayer:
    """A layer with weights in blocks.

    Attributes:
        name, op, aliases: as in `LayerReport`.
        end: the call.
        argument: the number of the weights among its arguments.
        weights: in place of them, a call of `qnn.dequantize_blocks`.
        snr: of the weights, dB; infinite where they stay.
        in_integers: the data are quantized, too.
    """

    name: str
    op: str
    aliases: tuple[str, ...]
    end: Call
    argument: int
    weights: Call
    snr: float
    in_integers: bool = False


@dataclass
class BlockPlan:
    """The layers whose weights are rounded, in the order of evaluation."""

    layers: list[BlockLayer] = field(default_factory=list)


class _Rounding:
    """The function with rounded weights: `rewritten` has the expression in the place of each."""

    def __init__(self, function: Function, options: WeightOptions) -> None:
        self.plan = BlockPlan()
        self.left: dict[str, str] = {}
        self._rounded: dict[tuple[Constant, int], tuple[Call, float]] = {}
        order = post_order(function.body)
        names = name_calls(order)
        small = _small_tables(order)
        for e in order:
            place = weights_of(e) if isinstance(e, Call) else None
            if place is None or not isinstance(e, Call):
                continue
            name, aliases = names[e], aliases_of(e)
            packed = _packed(e.args[place.argument], place.axis)
            reason = "asked for" if matches(options.keep, name, aliases) else _obstacle(e, place, packed, options)
            if not reason and e in small:
                reason = f"its table is less than 1/{SMALL} of the weights"
            if reason:
                self.left[name] = reason
                continue
            if packed is not None:
                weights, snr = packed, math.inf
            else:
                weights, snr = self._in_blocks(e.args[place.argument], place.axis, options)
            in_integers = options.activations == "int8" and _is_product_of_rows(e, weights)
            self.plan.layers.append(BlockLayer(name, e.op_name, aliases, e, place.argument, weights, snr, in_integers))
        if not self.plan.layers:
            notes = tuple(f"{n} stays as it is: {r}" for n, r in list(self.left.items())[:8])
            raise IrError(
                "there is no layer to quantize: no product or table with constant weights",
                notes=notes,
                code=NothingToQuantize,
            )
        self.rewritten: dict[Expr, Expr] = {}
        by_call = {x.end: x for x in self.plan.layers}
        quantized: dict[tuple[Expr, int], Call] = {}

        def leave(old: Expr, new: Expr) -> Expr:
            return _with_weights(by_call[old], new.args, quantized) if old in by_call else new  # type: ignore[index, attr-defined]  # layers are calls

        self.function: Function = rewrite(function, leave, memo=self.rewritten)

    def alone(self, layer: BlockLayer) -> Expr:
        """A layer of exact data with rounded weights."""
        return _with_weights(layer, layer.end.args, {})

    def _in_blocks(self, weights: Expr, axis: int, options: WeightOptions) -> tuple[Call, float]:
        assert isinstance(weights, Constant)
        key = weights, axis
        if key not in self._rounded:
            self._rounded[key] = _in_blocks(weights, axis, options)
        return self._rounded[key]


def _with_weights(layer: BlockLayer, args: Sequence[Expr], quantized: dict[tuple[Expr, int], Call]) -> Call:
    """The call of a layer with its rounded weights; `quantized` has quantized data by the data and the size of blocks, and gets more."""
    e = layer.end
    if layer.in_integers:
        return _in_integers(layer, args[0], quantized)
    changed = tuple(layer.weights if n == layer.argument else a for n, a in enumerate(args))
    return call(e.op_name, *changed, span=e.span, **attributes_of(e.attrs))


def _in_integers(layer: BlockLayer, data: Expr, quantized: dict[tuple[Expr, int], Call]) -> Call:
    """The product of a layer as one of integers in blocks."""
    e, weights = layer.end, layer.weights
    size: int = weights.attrs.block_size  # type: ignore[union-attr]  # the operator's
    key = data, size
    if key not in quantized:
        real = data if dtype_of(e.args[0]) == "float32" else call("cast", data, dtype="float32", span=e.span)
        quantized[key] = call("qnn.quantize_blocks", real, block_size=size, span=e.span)
    q = quantized[key]
    numbers, scale, zero = weights.args
    if weights.attrs.axis % 2 == 0:  # type: ignore[union-attr]  # as above; the columns of a matrix have the blocks
        numbers, scale, zero = (_transposed(c) for c in (numbers, scale, zero))
    numbers, zero = _unsigned(numbers, zero)
    product = call(
        "qnn.dense_blocks", TupleGetItem(q, 0), TupleGetItem(q, 1), numbers, scale, zero, block_size=size, span=e.span
    )
    out = dtype_of(e)
    return product if out == "float32" else call("cast", product, dtype=out, span=e.span)


def _unsigned(numbers: Expr, zero: Expr) -> tuple[Expr, Expr]:
    """Weights of 4 bits without a sign, as dot-product instructions take them, and their zero in a byte; others as they are."""
    if not isinstance(numbers, Constant) or numbers.dtype not in ("int4", "uint4") or not isinstance(zero, Constant):
        return numbers, zero
    shift = 8 if numbers.dtype == "int4" else 0
    zeros = np.asarray(zero.data.astype(np.int32) + shift)  # type: ignore[union-attr]  # the data is there
    least, most = int(zeros.min(initial=0)), int(zeros.max(initial=0))
    stored = zeros if not zeros.ndim or least < 0 or most > 255 else zeros.astype(np.uint8)
    if shift:
        numbers = Constant((numbers.data.astype(np.int8) + shift).astype(np.uint8), "uint4", None, numbers.span)  # type: ignore[union-attr]  # as above
    return numbers, Constant(stored, str(stored.dtype), None, zero.span)


def _transposed(c: Expr) -> Expr:
    if not isinstance(c, Constant) or not c.data.ndim:  # type: ignore[union-attr]  # the data is there
        return c
    return Constant(np.ascontiguousarray(c.data.T), c.dtype, None, c.span)  # type: ignore[union-attr]  # as above


def _packed(weights: Expr, axis: int) -> Call | None:
    """Weights that are constants in blocks along that axis already; None for others."""
    if not isinstance(weights, Call) or not is_call_to(weights, "qnn.dequantize_blocks"):
        return None
    is_along = weights.attrs.axis % 2 == axis  # type: ignore[union-attr]  # an operator's
    return weights if is_along and all(isinstance(a, Constant) and has_data(a) for a in weights.args) else None


def _is_product_of_rows(e: Call, weights: Call) -> bool:
    """True for a product of rows with a matrix whose zeros are integers: its sums can be those of integers."""
    if is_call_to(e, "nn.matmul"):
        is_product = not e.attrs.transpose_a  # type: ignore[union-attr]  # an operator's
    else:
        is_product = is_call_to(e, "nn.dense")
    return is_product and not dtype_of(weights.args[2]).startswith(("float", "bfloat"))


@dataclass(frozen=True)
class WeightPlace:
    """The number of the argument with the weights, and the axis of their blocks."""

    argument: int
    axis: int


def weights_of(e: Call) -> WeightPlace | None:
    """The weights of a product, along whose summed axis blocks lie, or of a table; None for other operators."""
    if is_call_to(e, "nn.dense"):
        return WeightPlace(1, 1)
    if is_call_to(e, "nn.matmul"):
        return WeightPlace(1, 1 if e.attrs.transpose_b else 0)  # type: ignore[union-attr]  # an operator's
    if is_call_to(e, "nn.batch_matmul"):
        return WeightPlace(1, 2 if e.attrs.transpose_b else 1)  # type: ignore[union-attr]  # as above
    if is_call_to(e, "take") and e.attrs.axis == 0 and dtype_of(e.args[0]).startswith("float"):  # type: ignore[union-attr]  # as above
        return WeightPlace(0, 1)
    return None


def _method(options: WeightOptions) -> str:
    weights = f"{options.dtype} in blocks of {options.block}" if options.dtype else "their own blocks"
    return f"{weights}, activations of int8" if options.activations == "int8" else weights


def _small_tables(order: Sequence[Expr]) -> set[Expr]:
    """The calls that take rows of a table that is a small part of the weights."""
    sizes: dict[Expr, int] = {}
    for e in order:
        place = weights_of(e) if isinstance(e, Call) else None
        weights = e.args[place.argument] if place is not None and isinstance(e, Call) else None
        if isinstance(weights, Constant) and has_data(weights):
            sizes[weights] = weights.data.size  # type: ignore[union-attr]  # the data is there
    total = sum(sizes.values())
    takes = [e for e in order if isinstance(e, Call) and is_call_to(e, "take") and e.args[0] in sizes]
    return {e for e in takes if sizes[e.args[0]] * SMALL < total}


def _obstacle(e: Call, place: WeightPlace, packed: Call | None, options: WeightOptions) -> str:
    """The reason why the weights of a layer cannot be in blocks; empty if they can. Those that are `packed` stay so."""
    if packed is not None and options.activations == "int8":
        return "" if _is_product_of_rows(e, packed) else "it is no product of rows with integer zeros"
    if not options.dtype:
        return "its weights are in floating point"
    weights = e.args[place.argument]
    if not isinstance(weights, Constant) or not has_data(weights):
        return "its weights are no constants"
    shape: Any = weights.data.shape  # type: ignore[union-attr]  # the data is there
    if len(shape) <= place.axis or not all(is_number(d) for d in shape):
        return "its weights are no matrix"
    return "" if weights.dtype in ("float32", "float16") else f"its weights are {weights.dtype}"


def _in_blocks(weights: Constant, axis: int, options: WeightOptions) -> tuple[Call, float]:
    """The dequantized constants in the place of weights, and the ratio of signal to noise of these in dB."""
    exact: np.ndarray = weights.data  # type: ignore[assignment]  # the data is there
    if not np.isfinite(exact).all():
        raise IrError("weights are NaN or infinite", weights.span, code=NotFinite)
    data, scale = rounded(np.moveaxis(exact.astype(np.float32), axis, -1), options.dtype, options.block)
    data, scale = (np.ascontiguousarray(np.moveaxis(v, -1, axis)) for v in (data, scale))
    own = weights.span.name if weights.span is not None else ""
    dtype, zero = options.dtype, np.asarray(0, "int32")
    if options.activations == "int8" and dtype == "int4":
        dtype, zero, data = "uint4", np.asarray(8, "int32"), (data + 8).astype(np.uint8)
    result = call(
        "qnn.dequantize_blocks",
        Constant(data, dtype, None, weights.span),
        Constant(scale, str(scale.dtype), None, _named(weights.span, f"{own}.scale") if own else None),
        Constant(zero),
        span=weights.span,
        axis=axis,
        block_size=options.block,
        out_dtype=weights.dtype,
    )
    noise = Noise()
    noise.add(exact, result.attrs.evaluate(data, scale, zero))  # type: ignore[union-attr]  # the operator
    return result, noise.decibels


def _named(span: Span | None, name: str) -> Span | None:
    return Span(span.source, span.start, span.end, name) if span is not None else None


def rounded(weights: np.ndarray, dtype: str, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights along the last axis in blocks: the integers, and a scale for each block."""
    *rows, extent = weights.shape
    count = -(-extent // block)
    padded = np.zeros((*rows, count * block), np.float32)
    padded[..., :extent] = weights
    blocks = padded.reshape(*rows, count, block)
    place = np.abs(blocks).argmax(-1)[..., None]
    largest = np.take_along_axis(blocks, place, -1)[..., 0]
    scale = largest / -LARGEST[dtype] if dtype == "int4" else np.abs(largest) / LARGEST[dtype]
    sizes = np.abs(scale)
    halves = bool(((sizes == 0) | ((sizes >= _HALVES[0]) & (sizes <= _HALVES[1]))).all())
    scale = scale.astype(np.float16 if halves else np.float32)
    factor = scale.astype(np.float32)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = np.where(factor[..., None] != 0, blocks / factor[..., None], 0)
    low, high = (-8, 7) if dtype == "int4" else (-127, 127)
    integers = np.clip(np.rint(quotients), low, high).astype(storage(dtype))
    return integers.reshape(*rows, count * block)[..., :extent], scale
