"""Metadata of a GGUF file: the numbers of a network, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...diagnostics import Diagnostic, IrError, nearest
from ..onnx.mistakes import DamagedModel, UnsupportedNode
from .architectures import ARCHITECTURES, Architecture

_MOST = 1 << 31
_IGNORED = ("vocab_size", "tensor_data_layout", "rope.scaling.finetuned", "attention.causal")
"""Metadata that say nothing of the network which its tensors do not."""


@dataclass(frozen=True)
class RotaryScaling:
    """Angles for contexts longer than those of the training.

    Attributes:
        kind: `none`, `linear`, `yarn` or `longrope`.
        factor: how much longer.
        original: tokens of the context of the training.
        attention: what cosines and sines are multiplied by; None: as the kind has it.
    """

    kind: str
    factor: float
    original: int
    attention: float | None


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The numbers of a network.

    Attributes:
        name: its architecture's name.
        width: elements of an embedding; `inner`: of the feed-forward layer between its products.
        heads, groups: heads of queries, and of keys and values.
        key_size, value_size: elements of a head.
        rotary_size: elements of a head that turn; 0: none.
        alibi: the greatest exponent of the slopes of biases by distance; 0: none.
        window: keys that a layer with a sliding window sees, the query's own among them; 0: all.
        score_scale: what scores are multiplied by.
        score_cap, logit_cap: bounds of scores and logits; 0: none.
    """

    name: str
    architecture: Architecture
    layers: int
    context: int
    width: int
    inner: int
    heads: int
    groups: int
    key_size: int
    value_size: int
    epsilon: float
    rotary_size: int
    rotary_base: float
    alibi: float
    scaling: RotaryScaling
    window: int
    score_scale: float
    score_cap: float
    logit_cap: float
    embedding_scale: float
    residual_scale: float
    logit_scale: float

    def is_local(self, layer: int) -> bool:
        """True if a layer has the sliding window."""
        period = self.architecture.local_layers
        return self.window > 0 and (period == 1 or layer % period != period - 1)

    def base_of(self, layer: int) -> float:
        """The base of a layer's angles."""
        local = self.architecture.local_base
        return local if local is not None and self.is_local(layer) else self.rotary_base


def read_configuration(metadata: Mapping[str, Any], name: str) -> Configuration:
    """The numbers of the network in the file of that name. Raises IrError with all that is missing, out of bounds, or unknown."""
    kind = metadata.get("general.architecture")
    if not isinstance(kind, str):
        raise IrError(
            "the metadata have no general.architecture: the file has weights, and no network",
            filename=name,
            help="give it as --params to a text or a model",
            code=DamagedModel,
        )
    architecture = ARCHITECTURES.get(kind)
    if architecture is None:
        raise IrError(
            f"the architecture {kind!r} is unknown",
            filename=name,
            help=nearest(kind, ARCHITECTURES) or f"known are {', '.join(ARCHITECTURES)}",
            code=UnsupportedNode,
        )
    numbers = _Numbers(metadata, kind)
    configuration = _configuration(numbers, kind, architecture)
    numbers.require_all_read()
    if numbers.problems:
        raise IrError([Diagnostic(p, filename=name, code=DamagedModel) for p in numbers.problems])
    return configuration


class _Numbers:
    """The metadata of an architecture, and the mistakes in them."""

    def __init__(self, metadata: Mapping[str, Any], kind: str) -> None:
        self.prefix = f"{kind}."
        self.values = {k.removeprefix(self.prefix): v for k, v in metadata.items() if k.startswith(self.prefix)}
        self.read: set[str] = set(_IGNORED)
        self.problems: list[str] = []

    def count(self, key: str, default: int | None = None, least: int = 1) -> int:
        """A whole number; of an array, its one value."""
        value = self._value(key, default)
        if isinstance(value, tuple) and len(set(value)) == 1:
            value = value[0]
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < _MOST:
            return self._wrong(key, value, f"a number from {least} on", least)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number that is not negative."""
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            return self._wrong(key, value, "a number", 1)
        return float(value)

    def text(self, key: str, default: str) -> str:
        """A string."""
        value = self._value(key, default)
        return value if isinstance(value, str) else str(self._wrong(key, value, "a string", 0))

    def require_all_read(self) -> None:
        """Notes metadata that say something which nothing here knows."""
        for key, value in self.values.items():
            if key not in self.read and value not in (0, False, "", "none"):
                self.problems.append(f"{self.prefix}{key} is {value}, which no part of this architecture is known for")

    def _value(self, key: str, default: Any) -> Any:
        self.read.add(key)
        value = self.values.get(key, default)
        if value is None:
            self.problems.append(f"the metadata have no {self.prefix}{key}")
        return value

    def _wrong(self, key: str, value: Any, expected: str, default: Any) -> Any:
        if value is not None:
            self.problems.append(f"{self.prefix}{key} is {value}, and not {expected}")
        return default


def _configuration(n: _Numbers, kind: str, architecture: Architecture) -> Configuration:
    width, heads = n.count("embedding_length"), n.count("attention.head_count")
    groups = n.count("attention.head_count_kv", heads)
    if heads % groups:
        n.problems.append(f"{heads} heads of queries cannot share {groups} of keys")
    size = n.count("attention.key_length", width // heads or 1)
    key = "attention.layer_norm_rms_epsilon" if architecture.norm == "rms" else "attention.layer_norm_epsilon"
    turning = n.count("rope.dimension_count", size) if architecture.rotary else 0
    if turning % 2 or turning > size:
        n.problems.append(f"{turning} of {size} elements of a head cannot turn in pairs")
    context = n.count("context_length")
    return Configuration(
        name=kind,
        architecture=architecture,
        layers=n.count("block_count"),
        context=context,
        width=width,
        inner=n.count("feed_forward_length"),
        heads=heads,
        groups=groups,
        key_size=size,
        value_size=n.count("attention.value_length", size),
        epsilon=n.number(key),
        rotary_size=turning,
        rotary_base=n.number("rope.freq_base", 10000.0),
        alibi=n.number("attention.max_alibi_bias", architecture.alibi) if architecture.alibi else 0.0,
        scaling=_scaling(n, context),
        window=n.count("attention.sliding_window", 0, least=0),
        score_scale=n.number("attention.scale", 0.0) or 1 / math.sqrt(size),
        score_cap=n.number("attn_logit_softcapping", 0.0),
        logit_cap=n.number("final_logit_softcapping", 0.0),
        embedding_scale=n.number("embedding_scale", 1.0),
        residual_scale=n.number("residual_scale", 1.0),
        logit_scale=n.number("logit_scale", 1.0),
    )


def _scaling(n: _Numbers, context: int) -> RotaryScaling:
    old = n.number("rope.scale_linear", 1.0)
    kind = n.text("rope.scaling.type", "none" if old == 1 else "linear")
    if kind not in ("none", "linear", "yarn", "longrope"):
        n.problems.append(f"{n.prefix}rope.scaling.type is {kind!r}; there are none, linear, yarn and longrope")
    attention = n.number("rope.scaling.attn_factor", 0.0) or None
    original = n.count("rope.scaling.original_context_length", context)
    return RotaryScaling(kind, n.number("rope.scaling.factor", old) or 1.0, original, attention)
