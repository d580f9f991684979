"""From a GGUF file to a module of Relay, whose `@main` reads tokens into caches of keys and values that are states."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from ...deferred import np
from ...diagnostics import IrError, UsageError, nearest
from ...files import read_bytes
from ...gc_tuning import rare_collections
from ...infer import infer_afresh
from ...ir import Expr, Function, Module, TensorType, Tuple, Var
from ...ir.dims import is_number
from ...ir.tensor_names import OUTPUTS, STATES
from ...parser.gguf import GgufFile, read_gguf_data
from ...symbolic_int import Symbol, bound, extent_of, symbol_of
from ..onnx.arithmetic import multiply
from ..onnx.dot_product import places_from
from ..onnx.length_values import extent_of_axis
from ..onnx.mistakes import DamagedModel, UnknownExtent
from ..onnx.names import RelayNames
from ..onnx.value import Value
from .layers import Layer, Positions, norm
from .metadata import Configuration, read_configuration
from .rotary import rotary_tables
from .weights import Weights

IDS, TOKENS, CONTEXT = "ids", "tokens", "context"
"""The input, and the lengths of a network: the tokens of a step, and those of the steps before."""

_LONGEST_CONTEXT = 4096
"""Tokens that caches have room for where nobody says how many: their memory grows with them."""
_MOST_TOKENS = 32
"""The most tokens of a step unless more are asked for: workspace grows with them."""


def from_gguf(
    model: str | os.PathLike[str] | bytes | GgufFile,
    dims: Mapping[str, int | str] | None = None,
    training: bool = False,
) -> tuple[Module, dict[str, Any]]:
    """The module of a GGUF file, and its weights by the names of parameters: a tensor in blocks has one for its numbers, and further ones for
    its scales and zeros.

    `@main` takes a row of tokens, `%ids`, int32, and gives the logits of the next one, `(1, vocabulary)`. The keys and values of each layer are
    states `(1, heads, context, size)`, to which a step adds those of its tokens. `dims` bounds the lengths: `context`, the tokens that caches
    have room for, and `tokens`, the most of a step. With `training`, there are no caches, and the logits are those behind each token,
    `(tokens, vocabulary)`; `tokens` is then a number, that of the context unless it is given.

    Raises IrError with everything that is missing, has another shape or is unknown; UsageError for another length.
    """
    with rare_collections():
        file, lengths = _read(model), _lengths(dims or {})
        return _module(file, lengths, training)


def _read(model: str | os.PathLike[str] | bytes | GgufFile) -> GgufFile:
    if isinstance(model, GgufFile):
        return model
    if isinstance(model, bytes | bytearray | memoryview):
        return read_gguf_data(bytes(model), "<bytes>")
    if not isinstance(model, str | os.PathLike):
        raise UsageError(f"a GGUF file is a path or bytes, not {type(model).__name__}")
    return read_gguf_data(read_bytes(model), os.fspath(model))


def _lengths(dims: Mapping[str, int | str]) -> dict[str, int]:
    """The lengths that are given, as numbers or symbols. Raises UsageError for other names."""
    from ...driver.extents import read_given

    for name in dims:
        if name not in (TOKENS, CONTEXT):
            raise UsageError(
                f"the network has no length {name}",
                help=nearest(name, (TOKENS, CONTEXT)) or "its lengths are context and tokens",
            )
    extents = read_given({}, dims)[1]
    if CONTEXT in extents:
        context = symbol_of(extents[CONTEXT])
        if context is None or not context.is_bounded:
            message = f"the context grows with each step: it is no {extents[CONTEXT]}"
            raise UsageError(message, help=f"bound it: 'context<={_LONGEST_CONTEXT}'")
        if context.low == context.step:  # no bound from below: the first step has no tokens before it
            extents[CONTEXT] = extent_of(Symbol(CONTEXT, 0, context.high, context.step))
    return extents


def _module(file: GgufFile, lengths: Mapping[str, int], training: bool) -> tuple[Module, dict[str, Any]]:
    c = read_configuration(file.metadata, file.name)
    if c.layers > len(file.tensors):
        message = f"{c.layers} layers cannot have {len(file.tensors)} tensors"
        raise IrError(message, filename=file.name, code=DamagedModel)
    if training:
        before, count = 0, _whole_text(lengths, c)
    else:
        before = lengths.get(CONTEXT) or _context(c, file.name)
        count = lengths.get(TOKENS) or extent_of(Symbol(TOKENS, 1, min(_MOST_TOKENS, bound(before))))
    network = _Network(c, Weights(file.tensors, RelayNames((IDS,))), count, before)
    main = network.function()
    network.weights.require_sound(file.name)
    return infer_afresh(Module({"main": main})), {v.name: a for v, a in network.weights.params.items()}


def _whole_text(lengths: Mapping[str, int], c: Configuration) -> int:
    """The tokens of a step of training. Raises UsageError for a length that the run decides, and for a context."""
    count = lengths.get(TOKENS, c.context)
    if CONTEXT in lengths or not is_number(count):
        raise UsageError(
            "a step of training reads whole texts: its tokens are a number, and there are none before them"
        )
    return count


def _context(c: Configuration, name: str) -> int:
    """The tokens that the network is made for. Raises IrError where their caches are too large to be nobody's decision."""
    if c.context > _LONGEST_CONTEXT:
        size = 4 * c.layers * c.groups * (c.key_size + c.value_size)
        message = f"the network is made for {c.context} tokens, each of which takes {size} bytes in caches: say how many there may be"
        raise IrError(message, filename=name, help=f"--dim 'context<={_LONGEST_CONTEXT}'", code=UnknownExtent)
    return extent_of(Symbol(CONTEXT, 0, c.context))


class _Network:
    def __init__(self, c: Configuration, weights: Weights, count: int, before: int) -> None:
        self.c, self.weights, self.count, self.before = c, weights, count, before
        self.capacity = bound(before + count) if is_number(before) else bound(before)

    def function(self) -> Function:
        """`@main`, whose parameters are the tokens, the caches, and the weights."""
        c, t = self.c, TensorType((self.count,), "int32")
        tokens = Var(IDS, t, None, t)
        is_cached = not is_number(self.before)
        caches = [self._cache(n) for n in range(c.layers)] if is_cached else []
        before = extent_of_axis(Value(caches[0][0]), 2, "int32") if is_cached else Value.constant(0, "int32")
        places = places_from(before.call("reshape", newshape=[1, 1]), self.count)
        positions = Positions(places, self._angles(places))
        x, results = self._embeddings(Value(tokens), places), []
        for n in range(c.layers):
            cache = (Value(caches[n][0]), Value(caches[n][1])) if is_cached else None
            x, *grown = Layer(c, self.weights, n).apply(x, cache, positions)
            results += grown if is_cached else []
        logits = self._logits(x)
        states = [p for cache in caches for p in cache]
        attrs: dict[str, Any] = {OUTPUTS: ["logits", *(f"{p.name}_next" for p in states)]}
        if is_cached:
            attrs[STATES] = [-1, *range(1, len(states) + 1)]
        body: Expr = Tuple((logits.expr, *(r.expr for r in results))) if is_cached else logits.expr
        return Function((tokens, *states, *self.weights.params), body, attrs=attrs)

    def _cache(self, n: int) -> tuple[Var, Var]:
        """The keys and the values of the tokens before, of one layer."""
        sizes = (("keys", self.c.key_size), ("values", self.c.value_size))
        types = [(name, TensorType((1, self.c.groups, self.before, size), "float32")) for name, size in sizes]
        keys, values = (Var(self.weights.names.of(f"{name}.{n}"), t, None, t) for name, t in types)
        return keys, values

    @property
    def words(self) -> int:
        """The size of the vocabulary."""
        table = self.weights.tensors.get("token_embd.weight")
        return int(table.shape[0]) if table is not None and len(table.shape) == 2 else 1

    def _embeddings(self, tokens: Value, places: Value) -> Value:
        c = self.c
        x = self.weights.tensor("token_embd.weight", self.words, c.width).call("take", tokens, axis=0)
        scale = math.sqrt(c.width) if c.architecture.scales_embeddings else c.embedding_scale
        x = x if scale == 1 else multiply(x, scale)
        if "token_embd_norm.weight" in self.weights:
            x = norm(c, self.weights, "token_embd_norm", x)
        if c.architecture.rotary or c.alibi:
            return x
        table = self.weights.tensor("position_embd.weight", c.context, c.width)
        if self.capacity > c.context:
            raise UsageError(f"there are embeddings of {c.context} positions, and the context has {self.capacity}")
        return x.call("add", table.call("take", places, axis=0).call("squeeze", axis=[0]))

    def _angles(self, places: Value) -> Callable[[int], tuple[Value, Value] | None]:
        """The cosines and sines of a layer; layers with the same base share them."""
        c = self.c
        rows: dict[float, tuple[Value, Value]] = {}
        factors = self._factors()

        def of_layer(n: int) -> tuple[Value, Value] | None:
            base = c.base_of(n)
            if c.rotary_size and base not in rows:
                tables = rotary_tables(c, base, factors, self.capacity, base == c.rotary_base)
                cos, sin = (x.call("take", places, axis=0).call("expand_dims", axis=1) for x in tables)
                rows[base] = cos, sin
            return rows.get(base)

        return of_layer

    def _factors(self) -> np.ndarray | None:
        """The divisors of frequencies: those of a file for any context, or for one as long as this."""
        names = ("rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight")
        self.weights.ignore(*names[1:])
        is_long = self.capacity > self.c.scaling.original
        name = names[0] if names[0] in self.weights else names[2 if is_long else 1]
        array = self.weights.array(name, self.c.rotary_size // 2)
        return None if array is None else np.asarray(array)

    def _logits(self, x: Value) -> Value:
        """The scores of the token behind that of each row."""
        c = self.c
        x = norm(c, self.weights, "output_norm", x)
        name = "output.weight" if "output.weight" in self.weights else "token_embd.weight"
        y = x.call("nn.dense", self.weights.tensor(name, self.words, c.width), units=self.words)
        bias = self.weights.optional("output.bias", self.words)
        y = y if bias is None else y.call("nn.bias_add", bias)
        y = y if c.logit_scale == 1 else multiply(y, 1 / c.logit_scale)
        return multiply(multiply(y, 1 / c.logit_cap).call("tanh"), c.logit_cap) if c.logit_cap else y
