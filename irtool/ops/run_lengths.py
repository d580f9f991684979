"""Operators for extents that follow from values: builds put them in the place of operators whose results have a `?`.

A tensor of integers says how long something is. `length.set` gives its elements to lengths of the run, which the types of further
tensors have; `length.equal` requires two extents to be one; the others cut, count and slice to such lengths::

    argwhere(%c)   ⇒   %0 = length.positions(%c);                             all places, and the number of those that count
                       length.cut(length.set(%0.0, %0.1, lengths=[n], places=[0]), shape=[n, 2])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import te
from ..deferred import np
from ..diagnostics import IrError
from ..ir import TensorType, TupleType, Type
from ..ir.dims import is_number
from ..symbolic_int import minimum
from .base import DType, Operator, Pattern, RelationError, Reporter, operator
from .conversion import convert
from .dtypes import numpy_dtype
from .indexing.meeting import copy_loops, loop_nest
from .indexing.take import require_integers
from .reshape_codes import Resolution
from .shape.reshape import infer_new_shape
from .shapes import normalize_axis, product, require_compatible, require_rank, tensor


def _numbers(shape: Sequence[int]) -> Sequence[int]:
    """The extents. Raises IrError if one is a length, whose value only a run knows."""
    lengths = [str(d) for d in shape if not is_number(d)]
    if lengths:
        raise IrError(f"the value of {lengths[0]} is known to runs of builds only")
    return shape


@operator("length.set", "data", "values", pattern=Pattern.OPAQUE, attrs="LengthSetAttrs", level=99)
@dataclass(frozen=True)
class LengthSet(Operator):
    """The data as they are. From here on, each of `lengths` is the element of `values` at its place in `places`.

    What is computed from the result may have these lengths in its types. A value outside of the bounds of its length ends a run in C
    with error 6. Without lengths, it says that the data are not needed before the values.
    """

    differentiable = False
    layout_rule = ""
    precision = "follow"
    noncomputational = True
    folds = False

    lengths: tuple[int, ...] = ()
    places: tuple[int, ...] = ()

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data, of any kind. The values are integers, one at least for each place."""
        values = tensor(types[1], "values")
        if values is None:
            return None
        require_integers(values, "values")
        if len(self.lengths) != len(self.places):
            raise RelationError(f"there are {len(self.lengths)} lengths and {len(self.places)} places")
        count = product(values.shape)
        wrong = [p for p in self.places if p < 0 or (isinstance(count, int) and p >= count)]
        if wrong:
            raise RelationError(f"values has {count} elements, and none at the place {wrong[0]}")
        return types[0]

    def evaluate(self, data: Any, values: Any) -> Any:
        return data

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        raise NotImplementedError("length.set is a step of the program, not a kernel")


@operator("length.equal", "data", "condition", pattern=Pattern.OPAQUE, attrs="LengthEqualAttrs", level=99)
@dataclass(frozen=True)
class LengthEqual(Operator):
    """The data under `shape`, which has the same extents if the condition holds. A run in C ends with error 8 otherwise."""

    differentiable = False
    layout_rule = ""
    precision = "follow"
    noncomputational = True
    folds = False

    shape: tuple[int, ...]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype, and `shape`, which has an extent for each axis of the data. The condition is a scalar bool."""
        data = tensor(types[0])
        reporter.assign(1, TensorType((), "bool"))
        if data is None:
            return None
        require_rank(data, len(self.shape), "data")
        return TensorType(tuple(self.shape), data.dtype)

    def evaluate(self, data: Any, condition: Any) -> Any:
        if not condition:
            raise IrError(f"extents of {data.shape} are not equal to others that they have to be equal to")
        return data

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        raise NotImplementedError("length.equal is a step of the program, not a kernel")


@operator("length.matches", "values", pattern=Pattern.OPAQUE, attrs="LengthMatchesAttrs", level=99)
@dataclass(frozen=True)
class LengthMatches(Operator):
    """True if the values are the extents of `shape`."""

    differentiable = False
    layout_rule = ""
    precision = "never"

    shape: tuple[int, ...]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A scalar bool. The values are a vector of int64, one for each extent."""
        reporter.assign(0, TensorType((len(self.shape),), "int64"))
        return TensorType((), "bool")

    def evaluate(self, values: Any) -> Any:
        return np.array(values.tolist() == list(_numbers(self.shape)))

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (values,) = inputs

        def test() -> Any:
            result: Any = te.const(1, "bool")
            for n, d in enumerate(self.shape):
                result = te.logical_and(result, te.equal(values[n], te.const(d, "int64")))
            return result

        return te.compute((), test, name="T_matches", tag="injective")


_MOST_RANK = 64
"""The most axes of an array of NumPy 2, in which runs of the interpreter have their tensors."""


@operator("length.extents", "codes", "shape", pattern=Pattern.OPAQUE, attrs="LengthExtentsAttrs", level=99)
@dataclass(frozen=True)
class LengthExtents(Operator):
    """The extents that `reshape` gives to data of `shape`, as many as there are codes; -1 for each of them if the codes are wrong.

    The codes mean what they mean in `newshape` of `reshape`. Extents may be those of another number of elements.
    """

    differentiable = False
    layout_rule = ""
    precision = "never"

    allowzero: bool = False

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the codes. Both arguments are vectors of int64."""
        codes, shape = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if codes is None or shape is None:
            return None
        for t, name in ((codes, "codes"), (shape, "shape")):
            require_rank(t, 1, name)
            if t.dtype != "int64":
                raise RelationError(f"{name} is {t}, not a vector of int64")
            (count,) = t.shape
            if is_number(count) and count > _MOST_RANK:
                raise RelationError(f"{name} has {count} extents, more than the {_MOST_RANK} axes of an array")
        return codes

    def evaluate(self, codes: Any, shape: Any) -> Any:
        try:
            extents = infer_new_shape(shape.tolist(), codes.tolist(), self.allowzero)
        except RelationError:
            extents = ()
        return np.array(extents if len(extents) == len(codes) else [-1] * len(codes), "int64")

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        def program(ib: Any, ins: Any, outs: Any) -> None:
            Resolution(ib, ins[0], ins[1], outs[0], self.allowzero).write()

        return te.extern(out_type.shape, inputs, program, dtype="int64", name="extents")


@operator("length.cut", "data", pattern=Pattern.INJECTIVE, attrs="LengthCutAttrs", level=99)
@dataclass(frozen=True)
class LengthCut(Operator):
    """The first elements along each axis, as many as `shape` has."""

    differentiable = False
    layout_rule = ""
    precision = "follow"
    integer_form = "same"
    one_dtype = ("data", "result")

    shape: tuple[int, ...]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype, and `shape`, which has an extent for each axis of the data."""
        data = tensor(types[0])
        if data is None:
            return None
        require_rank(data, len(self.shape), "data")
        return TensorType(tuple(self.shape), data.dtype)

    def evaluate(self, data: Any) -> Any:
        return data[tuple(slice(0, d) for d in _numbers(self.shape))]

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (data,) = inputs
        return te.compute(out_type.shape, lambda *i: data[i], name="T_cut", tag="injective")


@operator("length.write", "data", "rows", pattern=Pattern.OPAQUE, attrs="LengthWriteAttrs", level=99)
@dataclass(frozen=True)
class LengthWrite(Operator):
    """The data with `rows` in the place of those from `begin` on along `axis`. All are inside of the data."""

    differentiable = False
    layout_rule = ""
    precision = "follow"
    one_shape = ("data", "result")
    one_dtype = ("data", "rows", "result")

    axis: int
    begin: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The type of the data. The rows have its dtype, and its shape but for `axis`."""
        data, rows = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if data is None or rows is None:
            return None
        require_rank(rows, len(data.shape), "rows")
        axis = normalize_axis(self.axis, len(data.shape))
        for k, (d, r) in enumerate(zip(data.shape, rows.shape, strict=True)):
            if k != axis:
                require_compatible(d, r, f"axis {k} of data and of rows")
        if data.dtype != rows.dtype:
            raise RelationError(f"data is of {data.dtype}, and rows of {rows.dtype}")
        return data

    def evaluate(self, data: Any, rows: Any) -> Any:
        (begin,) = _numbers((self.begin,))
        out = np.array(data)
        axis = self.axis % data.ndim
        out[(slice(None),) * axis + (slice(begin, begin + rows.shape[axis]),)] = rows
        return out

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        axis = self.axis % len(out_type.shape)

        def program(ib: Any, ins: Any, outs: Any) -> None:
            data, rows = ins
            (out,) = outs
            copy_loops(ib, data, out)
            loop_nest(
                ib, rows.shape, lambda i: ib.store(out, (*i[:axis], i[axis] + self.begin, *i[axis + 1 :]), rows[i])
            )

        return te.extern(out_type.shape, inputs, program, dtype=out_type.dtype, name="write")


@operator("length.keep", "data", pattern=Pattern.OPAQUE, attrs="LengthKeepAttrs", level=99)
@dataclass(frozen=True)
class LengthKeep(Operator):
    """The elements of a vector at the beginning of one of `size` elements: those behind are not read, and those beyond are left out."""

    differentiable = False
    layout_rule = ""
    precision = "follow"
    one_dtype = ("data", "result")

    size: int

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A vector of the data's dtype."""
        data = tensor(types[0])
        if data is None:
            return None
        require_rank(data, 1, "data")
        return TensorType((self.size,), data.dtype)

    def evaluate(self, data: Any) -> Any:
        result = np.zeros(self.size, data.dtype)
        result[: data.size] = data[: self.size]
        return result

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            with ib.for_(minimum(x.shape[0], self.size)) as i:
                ib.store(outs[0], (i,), ins[0][i])

        return te.extern([out_type.shape], [x], fill, dtype=[x.dtype], name="keep")


@operator("length.slice", "data", "begin", "strides", pattern=Pattern.OPAQUE, attrs="LengthSliceAttrs", level=99)
@dataclass(frozen=True)
class LengthSlice(Operator):
    """Along each of the first axes, every `strides[k]`-th element from `begin[k]` on, as many as `shape` has. All are inside of the data."""

    differentiable = False
    layout_rule = ""
    precision = "follow"

    shape: tuple[int, ...]

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """The data's dtype, and `shape`, which has an extent for each axis of the data. The vectors are of one length."""
        data, begin, strides = (tensor(t, n) for t, n in zip(types, self.arguments, strict=True))
        if data is None or begin is None or strides is None:
            return None
        require_rank(data, len(self.shape), "data")
        for t, name in ((begin, "begin"), (strides, "strides")):
            require_integers(t, name)
            require_rank(t, 1, name)
        if begin.shape != strides.shape:
            raise RelationError(f"begin is {begin}, and strides {strides}: they differ in length")
        return TensorType(tuple(self.shape), data.dtype)

    def evaluate(self, data: Any, begin: Any, strides: Any) -> Any:
        index = [np.arange(d) for d in _numbers(self.shape)]
        for k, (first, by) in enumerate(zip(begin.tolist(), strides.tolist(), strict=True)):
            index[k] = first + by * index[k]
        return data[np.ix_(*index)] if index else data

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        data, begin, strides = inputs

        def element(*i: Any) -> Any:
            index = list(i)
            for k in range(begin.shape[0]):
                index[k] = te.cast(begin[k] + strides[k] * te.cast(i[k], begin.dtype), "int32")
            return data[tuple(index)]

        return te.compute(out_type.shape, element, name="T_slice", tag="injective")


@operator("length.steps", "start", "step", pattern=Pattern.INJECTIVE, attrs="LengthStepsAttrs", level=99)
@dataclass(frozen=True)
class LengthSteps(Operator):
    """`start`, `start + step`, …: as many as the one extent in `shape`."""

    differentiable = False
    layout_rule = ""
    precision = "never"

    shape: tuple[int, ...]
    dtype: DType
    dtype_attribute = "dtype"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """A vector of `dtype`, of which both arguments are scalars."""
        for i in range(2):
            reporter.assign(i, TensorType((), self.dtype))
        if len(self.shape) != 1:
            raise RelationError(f"the shape of steps has one extent, not {len(self.shape)}")
        return TensorType(tuple(self.shape), self.dtype)

    def evaluate(self, start: Any, step: Any) -> Any:
        return convert(start + step * convert(np.arange(_numbers(self.shape)[0]), self.dtype), self.dtype)

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        start, step = inputs
        return te.compute(
            out_type.shape,
            lambda i: start[()] + step[()] * te.cast(i, self.dtype),
            name="T_steps",
            tag="injective",
        )


@operator("length.positions", "condition", pattern=Pattern.OPAQUE, level=99)
@dataclass(frozen=True)
class LengthPositions(Operator):
    """`argwhere` in the memory of as many rows as there are elements, and the number of rows that it has. Those behind are not read."""

    differentiable = False
    layout_rule = ""
    precision = "follow"

    def relate(self, types: Sequence[Type], reporter: Reporter) -> Type | None:
        """int32 `(elements, rank)` and int32 `(1)`."""
        condition = tensor(types[0])
        if condition is None:
            return None
        rows = TensorType((product(condition.shape), len(condition.shape)), "int32")
        return TupleType((rows, TensorType((1,), "int32")))

    def evaluate(self, condition: Any) -> Any:
        places = np.argwhere(condition) if condition.ndim else np.zeros((int(bool(condition)), 0))
        rows = np.zeros((condition.size, condition.ndim), numpy_dtype("int32"))
        rows[: len(places)] = places
        return rows, np.array([len(places)], "int32")

    def compute(self, inputs: Sequence[Any], out_type: Any) -> Any:
        (x,) = inputs
        rows, number = out_type.fields

        def fill(ib: Any, ins: Sequence[Any], outs: Sequence[Any]) -> None:
            (source,) = ins
            count = ib.local("int32", 0)

            def visit(axis: int, index: tuple[Any, ...]) -> None:
                if axis < len(x.shape):
                    with ib.for_(x.shape[axis]) as i:
                        visit(axis + 1, (*index, i))
                    return
                with ib.if_(te.not_equal(source[index], te.const(0, x.dtype))):
                    for k, i in enumerate(index):
                        ib.store(outs[0], (count.get(), k), te.cast(i, "int32"))
                    count.set(count.get() + 1)

            visit(0, ())
            ib.store(outs[1], (0,), count.get())

        return te.extern([rows.shape, number.shape], [x], fill, dtype=[rows.dtype, number.dtype], name="positions")
