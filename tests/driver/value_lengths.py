"""Networks whose extents follow from values, with inputs for which these are 0, 1, some, and all that there may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import irtool
from tests.driver.programs import parse


@dataclass(frozen=True)
class Network:
    """A module by its text, and rows of inputs by name."""

    text: str
    rows: Sequence[dict[str, Any]]

    def build(self, target: str = "c", **options: Any) -> irtool.Artifact:
        """The build, under the name `net`."""
        return irtool.build(parse(self.text), target=target, **{"name": "net", **options})

    def inputs(self) -> list[dict[str, np.ndarray]]:
        """The inputs of each run, by name."""
        return [{n: np.asarray(v) for n, v in row.items()} for row in self.rows]

    def expected(self, inputs: dict[str, np.ndarray]) -> Any:
        """The interpreter's result."""
        return irtool.evaluate(parse(self.text), inputs)


def _signs() -> list[dict[str, Any]]:
    """Matrices with no positive element, one, some, and positive ones alone."""
    g = np.random.RandomState(3)
    none = -1 - g.rand(3, 5).astype("float32")
    one = none.copy()
    one[1, 2] = 2
    return [{"x": x} for x in (none, one, g.randn(3, 5).astype("float32"), -none)]


def _counts(dtype: str, *numbers: int, **others: Any) -> list[dict[str, Any]]:
    return [{"n": np.array(n, dtype), **others} for n in numbers]


def _sliced(**ranges: Any) -> str:
    begin, end, strides = ranges["begin"], ranges["end"], ranges["strides"]
    return (
        f"dyn.strided_slice({ranges['of']}, {begin}, {end}, {strides}, begin=None, end=None, strides=None, axes=None)"
    )


_X = np.random.RandomState(4).randn(6, 4).astype("float32")
_NORMAL = np.random.RandomState(7).randn(200).round(1).astype("float32")
_ROWS = [(_NORMAL, 0), (_NORMAL, 3), (_NORMAL, 60), (np.abs(_NORMAL) + 1, 200), (-np.abs(_NORMAL), 0)]
_PLACES = "%p = argwhere(greater(%x, 0f));"
_COUNT = '%c = reshape(cast(%n, dtype="int64"), newshape=[1]);'
_BOXES = np.random.RandomState(5).rand(1, 12, 4).astype("float32") * 0.5
_BOXES[..., 2:] += _BOXES[..., :2]


_DETECTED = np.random.RandomState(8).rand(9, 6).astype("float32")
_DETECTED[:, 0] = np.arange(9) % 2
_DETECTED[:, 4:] = _DETECTED[:, 2:4] + 0.4
_MASKS = [np.zeros(9), np.arange(9) == 4, np.arange(9) % 3 > 0, np.ones(9)]
_OF_BOXES = "%x: Tensor[(9, 6), float32], %m: Tensor[(9), float32]"
_CHOSEN = "%b = take(%x, squeeze(argwhere(greater(%m, 0f)), axis=[1]), axis=0);"
_VALID = "%v = vision.get_valid_counts(expand_dims(%b, axis=0), 0.3f, score_threshold=None, id_index=0, score_index=1);"


def _boxes() -> list[dict[str, Any]]:
    """Rows of class, score and corners, and masks that choose none of them, one, some, and all."""
    return [{"x": _DETECTED, "m": m.astype("float32")} for m in _MASKS]


def _suppressed(most: int, **attrs: Any) -> str:
    every = {"force_suppress": False, "top_k": -1, "return_indices": True, "invalid_to_bottom": False, **attrs}
    stated = ", ".join(f"{n}={v}" for n, v in every.items())
    return f"vision.non_max_suppression(%v.1, %v.0, %v.2, {most}, 0.5f, coord_start=2, score_index=1, id_index=0, {stated})"


def _columns(begin: int, end: int) -> str:
    return f"strided_slice(%b, begin=[0, {begin}], end=[9, {end}], strides=[1, 1], axes=None)"


def _main(params: str, *lines: str) -> str:
    """A function of these lines; those that name a value are `let`s."""
    named = (f"let {line}" if line.startswith("%") else line for line in lines)
    return f"def @main({params}) {{ {' '.join(named)} }}"


_MATRIX = "%x: Tensor[(3, 5), float32]"

NETWORKS = {
    "places": Network(_main(_MATRIX, "argwhere(greater(%x, 0f))"), _signs()),
    "elementwise": Network(
        _main(_MATRIX, _PLACES, '(multiply(%p, 2), transpose(%p, axes=[1, 0]), exp(cast(%p, dtype="float32")))'),
        _signs(),
    ),
    "reductions": Network(
        _main(
            _MATRIX, _PLACES, '%f = cast(%p, dtype="float32");', "(sum(%p, axis=[0]), sum(%f, axis=[1]), sum(%f), %p)"
        ),
        _signs(),
    ),
    "mask": Network(
        _main(
            _MATRIX,
            "%y = reshape(%x, newshape=[-1]);",
            "%k = squeeze(argwhere(greater(%y, 0f)), axis=[1]);",
            "%m = take(%y, %k, axis=0);",
            "(%m, tanh(%m), sum(%m), mean(concatenate((%m, %y))))",
        ),
        _signs(),
    ),
    "rows": Network(
        _main(
            _MATRIX + ", %w: Tensor[(4, 5), float32]",
            "%k = squeeze(argwhere(greater(sum(%x, axis=[1]), 0f)), axis=[1]);",
            "nn.softmax(nn.dense(take(%x, %k, axis=0), %w, units=None))",
        ),
        [{**row, "w": _X[:4, :1] * np.ones((1, 5), "float32")} for row in _signs()],
    ),
    "both": Network(
        _main(
            _MATRIX,
            _PLACES,
            "%q = argwhere(less(%x, 0f));",
            '(concatenate((%p, %q), axis=0), argwhere(greater(%p, 1)), add(%p, dyn.full(2, shape_of(%p, dtype="int64"), '
            'shape=None, dtype="int32")))',
        ),
        _signs(),
    ),
    "distinct": Network(
        _main(
            "%x: Tensor[(12), int32]",
            "%u = unique(%x, sorted=True, return_counts=True);",
            "%d = "
            + _sliced(of="%u.0", begin="reshape(0, newshape=[1])", end="%u.3", strides="reshape(1, newshape=[1])")
            + ";",
            "(%d, sum(%d), subtract(%d, 1))",
        ),
        [{"x": np.array(x, "int32")} for x in ([7] * 12, [1, 2] * 6, range(12), [3, 1, 2, 2] * 3)],
    ),
    "filled": Network(
        _main("%n: uint8", _COUNT, 'dyn.full(1.5f, %c, shape=None, dtype="float32")'), _counts("uint8", 0, 1, 9, 255)
    ),
    "broadcast": Network(
        _main(
            "%n: int8, %x: Tensor[(3, 1), float32]",
            "%m = clip(%n, a_min=0f, a_max=20f);",
            '%s = concatenate((reshape(3i64, newshape=[1]), reshape(cast(%m, dtype="int64"), newshape=[1])));',
            "nn.relu(dyn.broadcast_to(%x, %s, shape=None))",
        ),
        _counts("int8", 0, 1, 9, 20, x=_X[:3, :1]),
    ),
    "one hot": Network(
        _main("%n: uint8, %x: Tensor[(3), int32]", 'dyn.one_hot(%x, 1f, 0f, %n, axis=-1, dtype="float32")'),
        _counts("uint8", 1, 2, 7, x=np.array([0, 1, 5], "int32")),
    ),
    "steps": Network(
        _main(
            "%n: int32",
            "%m = clip(%n, a_min=-3f, a_max=9f);",
            '(arange(0, %m, 1, start=0, stop=%m, step=1, dtype="int32"), '
            'arange(2, %m, 3, start=2, stop=%m, step=3, dtype="int32"))',
        ),
        _counts("int32", -7, 0, 1, 5, 9, 100),
    ),
    "best": Network(
        _main("%x: Tensor[(6, 4), float32], %n: int64", 'dyn.topk(%x, %n, k=None, axis=0, dtype="int32")'),
        _counts("int64", 0, 1, 3, 6, x=_X),
    ),
    "best of some": Network(
        _main(
            "%x: Tensor[(200), float32], %n: int64",
            "%k = squeeze(argwhere(greater(%x, 0f)), axis=[1]);",
            "%y = take(%x, %k, axis=0);",
            '(dyn.topk(%y, %n, k=None, axis=0, dtype="int64"), argsort(%y, axis=0, dtype="int32"), sort(%y, axis=0))',
        ),
        [{"x": x, "n": np.array(n, "int64")} for x, n in _ROWS],
    ),
    "slices": Network(
        _main(
            "%x: Tensor[(6, 4), float32], %b: Tensor[(2), int32], %e: Tensor[(2), int64], %s: Tensor[(2), int64]",
            f"exp({_sliced(of='%x', begin='%b', end='%e', strides='%s')})",
        ),
        [
            {"x": _X, "b": np.array(b, "int32"), "e": np.array(e, "int64"), "s": np.array(s, "int64")}
            for b, e, s in (
                ((0, 0), (6, 4), (1, 1)),
                ((1, -2), (-2, 100), (2, 1)),
                ((5, 3), (0, -9), (-2, -1)),
                ((4, 0), (2, 4), (1, 3)),
                ((-100, 2), (100, 3), (5, 7)),
            )
        ],
    ),
    "boxes": Network(
        _main(
            "%b: Tensor[(1, 12, 4), float32], %s: Tensor[(1, 2, 12), float32], %t: float32",
            "%k = vision.all_class_non_max_suppression(%b, %s, 5i64, %t, 0.1f);",
            "%r = "
            + _sliced(
                of="%k.0",
                begin='zeros(shape=[2], dtype="int64")',
                end="concatenate((%k.1, reshape(3i64, newshape=[1])))",
                strides='ones(shape=[2], dtype="int64")',
            )
            + ";",
            "%i = squeeze(strided_slice(%r, begin=[2], end=[3], strides=[1], axes=[1]), axis=[1]);",
            "(%r, take(squeeze(%b, axis=[0]), %i, axis=0))",
        ),
        [
            {"b": _BOXES, "s": np.random.RandomState(6).rand(1, 2, 12).astype("float32") * k, "t": np.float32(t)}
            for k, t in ((1, 0.5), (0, 0.5), (1, 0.01), (1, 2))
        ],
    ),
    "valid boxes": Network(_main(_OF_BOXES, _CHOSEN, _VALID, "(%v.0, %v.1, %v.2)"), _boxes()),
    "suppressed boxes": Network(
        _main(
            _OF_BOXES,
            _CHOSEN,
            _VALID,
            f"({_suppressed(-1)}, {_suppressed(2, force_suppress=True, top_k=3)}, "
            f"{_suppressed(3, return_indices=False, invalid_to_bottom=True)}, {_suppressed(-1, return_indices=False)})",
        ),
        _boxes(),
    ),
    "boxes of all classes": Network(
        _main(
            _OF_BOXES,
            _CHOSEN,
            f"%c = expand_dims({_columns(2, 6)}, axis=0);",
            f"%s = expand_dims({_columns(0, 2)}, axis=0);",
            "%t = transpose(%s, axes=[0, 2, 1]);",
            "(vision.all_class_non_max_suppression(%c, %t, 3i64, 0.5f, 0.3f), "
            'vision.all_class_non_max_suppression(%c, %t, 9i64, 0.2f, 0.3f, output_format="tensorflow"), '
            "vision.regular_non_max_suppression(%c, %s, max_detections_per_class=4, max_detections=6, num_classes=1, "
            "iou_threshold=0.3f, score_threshold=0.25f))",
        ),
        _boxes(),
    ),
    "regions": Network(
        _main(
            _OF_BOXES,
            _CHOSEN,
            f"%r = concatenate((zeros_like({_columns(0, 1)}), multiply({_columns(2, 6)}, 8f)), axis=1);",
            'vision.roi_align(ones(shape=[1, 2, 8, 8], dtype="float32"), %r, pooled_size=[2, 2], spatial_scale=1f)',
        ),
        _boxes(),
    ),
    "branch": Network(
        _main(
            _MATRIX + ", %n: bool",
            'exp(cast(if (%n) { argwhere(greater(%x, 0f)) } else { argwhere(less(%x, -1.5f)) }, dtype="float32"))',
        ),
        [{**row, "n": np.array(c)} for row in _signs() for c in (True, False)],
    ),
    "branch of tuples": Network(
        _main(
            _MATRIX + ", %n: bool",
            _PLACES,
            '%r = if (%n) { (%p, sum(%x)) } else { (zeros(shape=[2, 2], dtype="int32"), 3f) };',
            "(add(%r.0, 1), %r.1)",
        ),
        [{**row, "n": np.array(c)} for row in _signs() for c in (True, False)],
    ),
    "callee": Network(
        "def @chosen(%y: Tensor[(3, 5), float32]) -> Tensor[(?, 2), int32] { argwhere(%y) } "
        + _main(_MATRIX, "(@chosen(nn.relu(%x)), @chosen(negative(nn.relu(negative(%x)))))"),
        _signs(),
    ),
}


def leaves(value: Any) -> list[np.ndarray]:
    """The arrays of a result."""
    return [a for v in value for a in leaves(v)] if isinstance(value, tuple) else [np.asarray(value)]


def compare(expected: Any, actual: Any) -> None:
    """Compares results, shapes included."""
    for e, a in zip(leaves(expected), leaves(actual), strict=True):
        assert a.shape == e.shape and a.dtype == e.dtype
        np.testing.assert_allclose(a, e, rtol=1e-5, atol=1e-5)
