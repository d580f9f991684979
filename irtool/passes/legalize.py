"""Legalize, qnn.Legalize and qnn.CanonicalizeOps: operators become forms that the target, or any target, has code for."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import UsageError, nearest
from ..ir import Call, Expr, Function, Module, Op, rewrite
from .core.base import FunctionPass, register_pass
from .core.config_option import ConfigOption
from .core.context import PassContext
from .legalization.rule import LEGALIZE, MAPS, QNN_CANONICALIZE, QNN_LEGALIZE, LegalizationSite, find_rule

BYTE_PRODUCTS = "irtool.qnn.byte_products"
BYTE_WINDOWS = "irtool.qnn.byte_windows"
WEIGHT_GRADIENTS = "irtool.weight_gradients"


def legalize(function: Function, map_name: str, context: PassContext, native: str) -> Function:
    """`function` with every call that has a rule in the map replaced. `native`: the configuration option that is
    `LegalizationSite.native`."""
    if map_name not in MAPS:
        raise UsageError(f"there is no map of legalizations {map_name}", help=nearest(map_name, MAPS))

    has_code, reads_bytes = bool(context.option(native, False)), bool(context.option(BYTE_WINDOWS, False))

    def leave(old: Expr, new: Expr) -> Expr:
        if not isinstance(old, Call) or not isinstance(old.op, Op) or not isinstance(new, Call):
            return new
        rule = find_rule(map_name, old.op.name)
        if rule is None:
            return new
        types = tuple(a.known_type for a in old.args)
        replaced = rule(LegalizationSite(new, types, old.known_type, context.target, has_code, reads_bytes))
        return new if replaced is None else replaced

    return rewrite(function, leave)


@register_pass(
    "Legalize",
    level=1,
    required=("InferType",),
    config={
        WEIGHT_GRADIENTS: ConfigOption(
            bool,
            False,
            "leave gradients of convolutions by weights as they are: builds sum them without copies for each channel",
        )
    },
)
@dataclass(frozen=True)
class Legalize(FunctionPass):
    """Replaces operators by equivalent forms that suit the target better.

    ::

        nn.dense(%x: int8, %w: uint8)   ⇒  … with both made the type that the target multiplies
        nn.conv2d(…) with channels that do not fill the target's vectors   ⇒  padded, computed, and sliced

    `legalize_map_attr_name` chooses the rules: FTVMLegalize, FTVMQnnLegalize or FTVMQnnCanonicalize.
    """

    legalize_map_attr_name: str = LEGALIZE

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return legalize(function, self.legalize_map_attr_name, context, WEIGHT_GRADIENTS)


@register_pass(
    "qnn.Legalize",
    level=1,
    required=("InferType",),
    config={
        BYTE_PRODUCTS: ConfigOption(
            bool, False, "leave products of 8-bit numbers as they are: builds have dot-product instructions for them"
        ),
        BYTE_WINDOWS: ConfigOption(
            bool,
            False,
            "leave bytes in windows of single channels: a processor without vectors widens each as it reads it",
        ),
    },
)
@dataclass(frozen=True)
class QnnLegalize(FunctionPass):
    """Replaces quantized operators by forms that suit the target's integer instructions.

    ::

        qnn.tanh(%x, …)                             ⇒  take(table, reinterpret(%x, dtype="uint8"))
        qnn.conv2d(%x, %w, …) where the target has no fast 8-bit products
            ⇒  nn.conv2d(cast(%x, "int16") - zero_point, cast(%w, "int16") - zero_point)
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return legalize(function, QNN_LEGALIZE, context, BYTE_PRODUCTS)


@register_pass("qnn.CanonicalizeOps", level=1, required=("InferType",))
@dataclass(frozen=True)
class QnnCanonicalizeOps(FunctionPass):
    """Replaces quantized operators by integer arithmetic on ordinary operators.

    ::

        qnn.dequantize(%x, %scale, %zero)  ⇒  multiply(cast(subtract(cast(%x, "int32"), %zero), "float32"), %scale)
        qnn.requantize(…)                  ⇒  subtract, fixed_point_multiply, add, clip, cast

    Scales of products and of requantizations must be constants.
    """

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        return legalize(function, QNN_CANONICALIZE, context, BYTE_PRODUCTS)
