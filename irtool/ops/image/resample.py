"""Resampling along one axis: where a position of the result lies in the source, and the taps and weights there.

Every coordinate mode is `(i + shift) * scale + offset`, evaluated in float32 in this order, for the reference and for
generated code alike, so that both round to the same neighbour. The modes are those of ONNX's Resize.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from ... import te
from ...deferred import np
from ...ir.attributes import formulas
from ...ir.dims import is_number
from ...symbolic_int import bound, signs
from ..base import RelationError

METHODS = ("nearest_neighbor", "linear", "cubic")
COORDINATES = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_LONGEST_PERIOD = 64
_LONGEST_AXIS = 128
"""Results after which the distances between taps are the same again, where indices are divisions; any of a short axis."""

_FARTHEST = 1 << 20
"""Elements from the beginning of the source to the first position, where indices are divisions."""

EPSILON = 1e-5
"""Keeps `floor` and `ceil` from falling to the wrong side of a position that is an integer but for rounding."""


@dataclass(frozen=True)
class Method:
    """An interpolation between samples. `alpha` is the cubic coefficient, `exclude` drops taps that lie outside."""

    name: str = "linear"
    coordinates: str = "half_pixel"
    rounding: str = ""
    alpha: float = -0.5
    exclude: bool = False

    def check(self) -> None:
        """RelationError where one of the names is unknown."""
        for what, name, known in (
            ("method", self.name, METHODS),
            ("coordinate_transformation_mode", self.coordinates, COORDINATES),
            ("rounding_method", self.rounding, ROUNDINGS),
        ):
            if name not in known:
                choices = ", ".join(f'"{k}"' for k in known)
                raise RelationError(f'{what} is "{name}"; it can be {choices}')

    @property
    def rounding_in_use(self) -> str:
        """The rounding method, its default depending on the coordinate mode."""
        return self.rounding or ("round" if self.coordinates == "align_corners" else "floor")

    @property
    def taps(self) -> int:
        """Number of source elements that a position is made of, along one axis."""
        return {"nearest_neighbor": 1, "linear": 2, "cubic": 4}[self.name]

    @property
    def taps_before(self) -> int:
        """The number of taps before the last source element that does not lie behind a position."""
        return 1 if self.name == "cubic" else 0


@dataclass(frozen=True)
class Map:
    """The affine map from positions of the result to positions of the source, which is `extent` long.

    `whole`, where it is not 0, says that the source index is exactly `i // whole`. Where the run knows extents, the other numbers may
    be expressions of them.
    """

    extent: int
    shift: float
    scale: float
    offset: float
    whole: int = 0


def map_axis(
    extent: int, target: int, method: Method, start: float = 0.0, end: float = 0.0, exact: bool = False
) -> Map:
    """The map for an axis of `extent` resized to `target`; `start` and `end` bound `tf_crop_and_resize`.

    `exact` divides integers where nearest neighbours are repeated a whole number of times.
    """
    mode = method.coordinates
    if formulas([extent, target]):
        return _map_of_lengths(extent, target, method, exact)
    scale = float(np.float32(extent / target)) if target else 0.0
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and target > 1):
        return Map(extent, 0.5, scale, -0.5)
    if mode == "pytorch_half_pixel":
        return Map(extent, 0.0, 0.0, 0.0)
    if mode == "align_corners":
        return Map(extent, 0.0, float(np.float32((extent - 1) / (target - 1))) if target > 1 else 0.0, 0.0)
    if mode == "tf_half_pixel_for_nn":
        return Map(extent, 0.5, scale, 0.0)
    if mode == "tf_crop_and_resize":
        if target > 1:
            return Map(
                extent, 0.0, float(np.float32((end - start) * (extent - 1) / (target - 1))), start * (extent - 1)
            )
        return Map(extent, 0.0, 0.0, 0.5 * (start + end) * (extent - 1))
    repeated = exact and method.name == "nearest_neighbor" and extent > 0 and target % extent == 0 and target > 0
    return Map(extent, 0.0, scale, 0.0, target // extent if repeated else 0)


def _map_of_lengths(extent: int, target: int, method: Method, exact: bool) -> Map:
    """The map where the run knows an extent. Its numbers are constants where the ratio is, and expressions elsewhere."""
    mode = method.coordinates
    if mode == "tf_crop_and_resize":
        raise RelationError(f"a region of an axis of {extent}, which only the run knows, has no constant bounds")
    scale = _ratio(extent, target)
    if mode == "half_pixel":
        return Map(extent, 0.5, scale, -0.5)
    if mode == "pytorch_half_pixel":
        return Map(extent, _if_several(target, 0.5), _if_several(target, scale), _if_several(target, -0.5))
    if mode == "align_corners":
        return Map(extent, 0.0, _if_several(target, _ratio(extent - 1, target - 1)), 0.0)
    if mode == "tf_half_pixel_for_nn":
        return Map(extent, 0.5, scale, 0.0)
    repeats = method.name == "nearest_neighbor" and exact and target % extent == 0
    return Map(extent, 0.0, scale, 0.0, target // extent if repeats and is_number(target // extent) else 0)


def _ratio(a: int, b: int) -> Any:
    """`a / b` in float32: a number if it is the same for all lengths, else an expression."""
    if not bound(b):
        return 0.0
    ratio = Fraction(bound(a), bound(b))
    if a * ratio.denominator == b * ratio.numerator:
        return float(np.float32(ratio.numerator / ratio.denominator))
    dividend, divisor = (te.cast(te.const(d, "int64"), "float64") for d in (a, b))
    return te.cast(dividend / divisor, "float32")


def _if_several(count: int, value: Any) -> Any:
    """`value` for an axis of more elements than one, else 0."""
    if signs(count - 1) == {1}:
        return value
    value = value if isinstance(value, te.Expr) else te.const(value, "float32")
    return te.select(te.const(count, "int64") > 1, value, te.const(0, "float32"))


def positions(map: Map, target: int) -> Any:
    """The source positions (float32) of all `target` positions of the result."""
    i = np.arange(target, dtype=np.float32)
    return (i + np.float32(map.shift)) * np.float32(map.scale) + np.float32(map.offset)


def round_half_away(x: Any) -> Any:
    """The nearest integer, halves away from zero (numpy rounds them to even)."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def nearest(position: Any, rounding: str) -> Any:
    """The index nearest to each float32 position."""
    if rounding == "round":
        rounded = round_half_away(position)
    elif rounding == "round_prefer_floor":
        rounded = np.ceil(position - np.float32(0.5))
    elif rounding == "round_prefer_ceil":
        rounded = np.floor(position + np.float32(0.5))
    elif rounding == "floor":
        rounded = np.floor(position + np.float32(EPSILON))
    else:
        rounded = np.ceil(position - np.float32(EPSILON))
    return rounded.astype(np.int64)


def cubic_weights(t: Any, alpha: float) -> list[Any]:
    """The weights of the four taps round a position, `t` behind the second; works on arrays and expressions."""
    t2 = t * t
    t3 = t * t * t
    return [
        alpha * (t3 - 2 * t2 + t),
        (alpha + 2) * t3 - (3 + alpha) * t2 + 1,
        -(alpha + 2) * t3 + (3 + 2 * alpha) * t2 - alpha * t,
        -alpha * t3 + alpha * t2,
    ]


def taps_at(position: Any, extent: int, method: Method, whole: Any = None) -> tuple[Any, Any]:
    """Source indices and float32 weights of shape (taps, *position.shape). `whole` are indices known exactly."""
    if method.name == "nearest_neighbor":
        taps = nearest(position, method.rounding_in_use) if whole is None else whole
        return np.clip(taps, 0, extent - 1)[None], np.ones((1, *position.shape), np.float32)
    base = np.floor(position)
    t = (position - base).astype(np.float32)
    first = base.astype(np.int64)
    if method.name == "linear":
        taps = np.stack([first, first + 1])
        weights = np.stack([1 - t, t])
    else:
        taps = np.stack([first + k for k in (-1, 0, 1, 2)])
        weights = np.stack([w.astype(np.float32) for w in cubic_weights(t, float(np.float32(method.alpha)))])
        if method.exclude:
            weights = np.where((taps < 0) | (taps >= extent), np.float32(0), weights)
            weights = weights / weights.sum(0)
    return np.clip(taps, 0, extent - 1), weights


def resample(data: Any, axis: int, map: Map, target: int, method: Method) -> Any:
    """The numpy array resampled along one axis; nearest neighbours keep the dtype, all else is float32."""
    whole = np.arange(target) // map.whole if map.whole else None
    taps, weights = taps_at(positions(map, target), map.extent, method, whole)
    if method.name == "nearest_neighbor":
        return np.take(data, taps[0], axis)
    data = data.astype(np.float32)
    shape = [-1 if a == axis else 1 for a in range(data.ndim)]
    out = None
    for k in range(method.taps):
        term = np.take(data, taps[k], axis) * weights[k].reshape(shape)
        out = term if out is None else out + term
    return out


def outside(map: Map, target: int) -> Any:
    """A mask of positions beyond the source, for the extrapolation value of `tf_crop_and_resize`."""
    p = positions(map, target)
    return (p < 0) | (p > map.extent - 1)


def position_of(i: Any, map: Map) -> Any:
    """The source position of the index expression `i`, a float32 expression."""
    x = te.cast(i, "float32")
    if isinstance(map.shift, te.Expr) or map.shift:
        x = x + _number(map.shift)
    x = x * _number(map.scale)
    return x + _number(map.offset) if isinstance(map.offset, te.Expr) or map.offset else x


def _number(value: Any) -> Any:
    return value if isinstance(value, te.Expr) else te.const(value, "float32")


def nearest_of(position: Any, rounding: str) -> Any:
    """`nearest`, as an int32 expression."""
    if rounding == "round":
        rounded = te.round(position)
    elif rounding == "round_prefer_floor":
        rounded = te.ceil(position - te.const(0.5, "float32"))
    elif rounding == "round_prefer_ceil":
        rounded = te.floor(position + te.const(0.5, "float32"))
    elif rounding == "floor":
        rounded = te.floor(position + te.const(EPSILON, "float32"))
    else:
        rounded = te.ceil(position - te.const(EPSILON, "float32"))
    return te.cast(rounded, "int32")


def taps_of(position: Any, extent: int, method: Method, whole: Any = None) -> list[tuple[Any, Any]]:
    """`taps_at`, as pairs of an int32 and a float32 expression; the weight of a nearest neighbour is None."""

    def clip(tap: Any) -> Any:
        return te.max2(te.min2(tap, extent - 1), 0)

    if method.name == "nearest_neighbor":
        return [(clip(nearest_of(position, method.rounding_in_use)) if whole is None else whole, None)]
    base = te.floor(position)
    t = position - base
    first = te.cast(base, "int32")
    if method.name == "linear":
        return [(clip(first), te.const(1, "float32") - t), (clip(first + 1), t)]
    weights = cubic_weights(t, method.alpha)
    if method.exclude:
        zero = te.const(0, "float32")
        weights = [
            te.select(te.any(first + k < 0, first + k > extent - 1), zero, w)
            for k, w in zip((-1, 0, 1, 2), weights, strict=True)
        ]
        total = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [w / total for w in weights]
    return [(clip(first + k), w) for k, w in zip((-1, 0, 1, 2), weights, strict=True)]


@dataclass(frozen=True)
class Division:
    """Source indices as a division of integers: `(i * step + first) // by`, before they are clipped."""

    step: int
    first: int
    by: int

    def at(self, i: Any) -> Any:
        """The index for result `i`, of numpy or as an expression."""
        place = i * self.step + self.first
        return te.floordiv(place, self.by) if isinstance(i, te.Expr) else place // self.by


def division_of(map: Map, target: int, method: Method) -> Division | None:
    """The division that gives the first tap of every result, just as float32 rounds it; None if none of a short period does.

    What reads by way of it moves evenly, or repeats itself, where a table may hold anything.
    """
    if map.whole:
        return Division(1, 0, map.whole)
    if any(isinstance(n, te.Expr) for n in (map.shift, map.scale, map.offset)):
        return None
    target = bound(target)  # the first taps of a shorter axis are the same
    if target < 1 or (is_number(map.extent) and map.extent < 1) or abs(map.offset) > _FARTHEST:
        return None
    first_taps = _first_taps(map, target, method)
    scale = Fraction(map.scale).limit_denominator(2 * target)
    start = scale * Fraction(map.shift) + Fraction(map.offset).limit_denominator(2 * target) - method.taps_before
    i = np.arange(target)
    for rounding in (Fraction(0), Fraction(1, 2)):
        by = lcm(scale.denominator, (start + rounding).denominator)
        if by > _LONGEST_PERIOD and target > _LONGEST_AXIS:
            continue
        first = int((start + rounding) * by)
        for moved in (0, -1, by - 1):  # halves rounded down, and halves rounded up
            result = _reduced(int(scale * by), first + moved, by)
            if (result.at(i) == first_taps).all():
                return result
    return None


def _reduced(step: int, first: int, by: int) -> Division:
    """The same division of smaller numbers."""
    common = gcd(step, by)
    return Division(step // common, first // common, by // common)


def _first_taps(map: Map, target: int, method: Method) -> Any:
    """The first tap of every result, as the reference finds it, before it is clipped."""
    position = positions(map, target)
    if method.name == "nearest_neighbor":
        return nearest(position, method.rounding_in_use)
    return np.floor(position).astype(np.int64) - method.taps_before


def interpolate(read: Any, taps: Sequence[list[tuple[Any, Any]]]) -> Any:
    """The weighted sum over the taps of all axes, the last axis innermost; `read(*indices)` gives a source element."""

    def over(axis: int, fixed: tuple[Any, ...]) -> Any:
        if axis == len(taps):
            return read(*fixed)
        total = None
        for tap, weight in taps[axis]:
            value = over(axis + 1, (*fixed, tap))
            if weight is not None:
                value = te.cast(value, "float32") * weight
            total = value if total is None else total + value
        return total

    return over(0, ())
