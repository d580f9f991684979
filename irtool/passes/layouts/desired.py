"""Calls in the layouts that a user wishes: `{"nn.conv2d": ["NHWC", "OHWI"], "nn.max_pool2d": ["NHWC"]}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from ...diagnostics import IrError, UsageError
from ...ir import Call, Expr, TensorType
from ...ops.base import Operator, attributes_of, call
from ...ops.layout import Layout, LayoutError, convertible
from ..core.rule_table import RuleTable

Conversion = Callable[[Call, Call, Sequence[str]], "Call | None"]
"""`conversion(old, new, wanted)`: `new`, which is `old` over changed arguments, in the wanted layouts; None to leave it."""

_CONVERSIONS: RuleTable[str, Conversion] = RuleTable(__package__, "the conversion of")


def conversion(*operators: str) -> Callable[[Conversion], Conversion]:
    """Decorator: files ConvertLayout's rule for operators without `kernel_layouts`."""
    return _CONVERSIONS.file(*operators)


def find_conversion(operator: type[Operator]) -> Conversion | None:
    """The rule that gives calls of an operator the desired layouts: its own, that of its `kernel_layouts`, or that of pools; or None."""
    own = _CONVERSIONS.find(operator.name)
    if own is not None:
        return own
    if operator.kernel_layouts:
        return _convolution
    return _pooling if operator.shared_layout_rule() == "pooling" else None


def is_depthwise(data: TensorType, data_layout: str, weight: TensorType, kernel_layout: str, groups: int) -> bool:
    """True if a grouped convolution has one input channel per group."""
    data_letters = re.sub(r"\d+[a-z]", "", data_layout)
    kernel_letters = re.sub(r"\d+[a-z]", "", kernel_layout)
    channels = data.shape[data_letters.index("C")]
    per_group = weight.shape[kernel_letters.index("I")]
    if kernel_letters == "HWOI" or data_letters == "NHWC":
        outer = weight.shape[kernel_letters.index("O")]
        return groups > 1 and groups == channels and (per_group == 1 or outer == groups)
    return groups > 1 and groups == channels and per_group == 1


def require_layouts(name: str, layouts: Sequence[str]) -> None:
    """Raises UsageError unless each desired layout of the operator of that name is a layout or `default`."""
    if not isinstance(layouts, list | tuple) or not all(isinstance(layout, str) for layout in layouts):
        raise UsageError(f"desired_layouts of {name} must be a list of layouts, not {layouts!r}")
    for layout in layouts:
        if layout == "default":
            continue
        try:
            Layout.parse(layout)
        except LayoutError as error:
            raise UsageError(f"in desired_layouts of {name}: {error}") from None


def with_layouts(old: Call, new: Call, layouts: Sequence[str]) -> Call | None:
    """The call in the wanted layouts. Raises UsageError if they are not of the operator's kind."""
    convert = find_conversion(old.op_class)
    return None if convert is None else convert(old, new, layouts)


def _need(name: str, layouts: Sequence[str], count: int) -> None:
    if len(layouts) != count:
        plural = "layouts" if count > 1 else "layout"
        raise UsageError(f"ConvertLayout needs {count} {plural} for {name}, not {list(layouts)}")
    if layouts[0] == "default":
        raise UsageError(f"the data layout of {name} cannot be default")


def _require_windows(name: str, old: str, target: str) -> None:
    """Raises UsageError if a layout has other axes than the old one, or splits an axis that windows move along."""
    layout = Layout.parse(target)
    if not convertible(Layout.parse(old), layout):
        raise UsageError(f"{name} cannot turn the layout {old} into {target!r}: their axes differ")
    for letter in layout.primals:
        if letter not in "NCOI" and letter.lower() in layout:
            raise UsageError(f"{name} cannot have the layout {target}: windows move along {letter}, which is split")


def _convolution(old: Call, new: Call, layouts: Sequence[str]) -> Call | None:
    name = old.attrs.name
    _need(name, layouts, 2)
    data, kernel = layouts
    _require_windows(name, old.attrs.data_layout, data)
    if kernel != "default":
        _require_windows(name, old.attrs.kernel_layout, kernel)
    tile = re.match(r"NCHW(\d*)c", data) if name == "nn.conv2d" else None
    if tile is not None:
        return _blocked(old, new, data, kernel, int(tile[1]))
    if kernel == "default":
        kernel = old.attrs.kernel_layouts.get(data, "")
        if not kernel:
            raise UsageError(f"there is no default kernel layout of {name} for {data} data")
        if data in old.attrs.depthwise_kernel_layouts and _is_depthwise_call(old):
            kernel = old.attrs.depthwise_kernel_layouts[data]
    changes: dict[str, Any] = {"data_layout": data, "kernel_layout": kernel}
    return _same(name, new.args, attributes_of(new.attrs, **changes))


def _same(name: str, arguments: Sequence[Expr], attributes: dict[str, Any]) -> Call:
    return call(name, *arguments, **attributes)


def _is_depthwise_call(e: Call) -> bool:
    data, weight = e.args[0].checked_type, e.args[1].checked_type
    assert isinstance(data, TensorType) and isinstance(weight, TensorType)
    return is_depthwise(data, e.attrs.data_layout, weight, e.attrs.kernel_layout, e.attrs.groups)


def _blocked(old: Call, new: Call, data: str, kernel: str, tile: int) -> Call | None:
    if kernel == "default":
        raise UsageError(f"the kernel layout of nn.conv2d cannot be default for {data} data")
    t = old.args[0].checked_type
    channels = t.shape[1] if isinstance(t, TensorType) else None
    from ...ir import Var

    if isinstance(new.args[0], Var) and (not isinstance(channels, int) or channels % tile):
        return new
    weight, packed = old.args[1].checked_type, re.fullmatch(r"OIHW(\d+)i(\d+)o", kernel)
    depth = weight.shape[1] if isinstance(weight, TensorType) and old.attrs.kernel_layout == "OIHW" else None
    if packed is not None and old.attrs.groups != 1 and isinstance(depth, int) and depth % int(packed[1]):
        raise IrError(
            f"the weights take {depth} channels of a group, and {kernel} packs {packed[1]} of them",
            old.span,
            help=f"use OIHW1i{packed[2]}o, or leave convolutions in groups as they are",
        )
    return call(
        "nn.contrib_conv2d_NCHWc", *new.args, **attributes_of(new.attrs, data_layout=data, kernel_layout=kernel)
    )


@conversion("nn.conv2d_backward_weight")
def _weight_gradient(old: Call, new: Call, layouts: Sequence[str]) -> Call | None:
    _need(old.attrs.name, layouts, 2)
    grad, data = layouts
    changes: dict[str, Any] = {"data_layout": grad, "kernel_layout": grad if data == "default" else data}
    if grad == "NHWC":
        changes["out_layout"] = "OHWI"
    elif grad == "NCHW":
        changes["out_layout"] = "OIHW"
    else:
        raise IrError(f"nn.conv2d_backward_weight has no {grad} form", old.span)
    return _same(old.attrs.name, new.args, attributes_of(new.attrs, **changes))


def _pooling(old: Call, new: Call, layouts: Sequence[str]) -> Call | None:
    name = old.attrs.name
    _need(name, layouts, 1)
    _require_windows(name, old.attrs.layout, layouts[0])
    return _same(old.attrs.name, new.args, attributes_of(new.attrs, layout=layouts[0], out_layout=layouts[0]))


@conversion("image.resize1d", "image.resize2d", "vision.roi_align", "vision.roi_pool")
def _single(old: Call, new: Call, layouts: Sequence[str]) -> Call | None:
    if not 1 <= len(layouts) <= 2 or layouts[0] == "default":
        raise UsageError(f"ConvertLayout needs one layout for {old.attrs.name}, not {list(layouts)}")
    return _same(old.attrs.name, new.args, attributes_of(new.attrs, layout=layouts[0]))
