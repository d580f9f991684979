"""Loop nests as data: statements over buffers, and the function that holds them.

Nodes are immutable and compared by identity, as expressions are. `children` and `rewrite_stmt` walk them without
recursion.

The grammar, on one page::

    function ::= PrimFunc(name, params: buffers and variables, body: stmt)
    stmt     ::= For(var, extent, body, kind)      var runs over 0 … extent - 1
               | Store(buffer, indices, value)
               | If(cond, then, other?)
               | While(cond, body)
               | Let(var, value, body)             var is value, once, in body
               | Allocate(buffer, body)            buffer exists in body, with undefined contents
               | AllocateConst(buffer, data, body) buffer exists in body, holds data, and is only read
               | Prefetch(place)               brings what a load would read into the cache; changes nothing
               | Annotate(buffer, key, value, body)  tells passes something of a buffer; changes nothing
               | Seq(stmts)
    expr     ::= see `expr`; Load reads a buffer
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from operator import is_
from typing import Any

from ..hooks import Hook
from ..symbolic_int import is_known
from . import dtypes
from .expr import Const, Expr, Load, Var, as_expr, const

_show_stmt: Hook[[Stmt], str] = Hook("tir.show_stmt")
_show_function: Hook[[PrimFunc], str] = Hook("tir.show_function")
_structural_words: Hook[[PrimFunc], list[Any]] = Hook("tir.structural_words")

SERIAL, PARALLEL, VECTORIZED, UNROLLED, TILED = "serial", "parallel", "vectorized", "unroll", "tiled"


Layout = tuple[tuple[int, int, int], ...]
"""How a tensor lies in memory: digits `(axis, divisor, extent)`, outermost first. Element `i` is at the place whose digits
are `i[axis] floordiv divisor floormod extent`; `NCHW16c` of (1, 64, 7, 7) is ((0, 1, 1), (1, 16, 4), (2, 1, 7), (3, 1, 7),
(1, 1, 16)). The digits of an axis together cover it exactly."""


def blocked(shape: Sequence[int], axis: int, factor: int) -> Layout:
    """Row-major, but with blocks of `factor` along `axis` innermost."""
    outer = tuple((n, factor if n == axis else 1, d // factor if n == axis else d) for n, d in enumerate(shape))
    return (*outer, (axis, 1, factor))


def in_panels(shape: Sequence[int], axis: int, factor: int) -> Layout:
    """Blocks of `factor` along `axis` innermost, with all elements of the same block side by side: the weights of a tile."""
    return tuple(sorted(blocked(shape, axis, factor), key=lambda digit: digit[:2] != (axis, factor)))


class Scope(Enum):
    """The memory of a buffer. Values are TVM's storage scopes, as in texts.

    `PARAM` belongs to the caller; `GLOBAL` is the planned workspace; `THREAD` is in the workspace, once for each thread; `LOCAL` the
    stack of the function, and scalars; `REGISTER` is a tile of registers, of which the last axis is a vector.
    """

    PARAM = "param"
    GLOBAL = "global"
    THREAD = "global.thread"
    LOCAL = "local"
    REGISTER = "local.register"

    def __str__(self) -> str:
        return str(self.value)


class Buffer:
    """Memory for a tensor of static `shape`. Compared by identity.

    `layout` says how elements are ordered in memory: None is row-major; otherwise digits, outermost first, see `Layout`.
    `finite`: no element is infinite or NaN, whatever the program is run on. `numbers`: its elements are words of numbers of this
    dtype, and these lie in memory; empty where its elements do.
    """

    __slots__ = ("dtype", "finite", "layout", "name", "numbers", "scope", "shape")

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "float32",
        scope: Scope = Scope.GLOBAL,
        layout: Layout | None = None,
        *,
        finite: bool = False,
        numbers: str = "",
    ) -> None:
        self.layout = layout
        self.finite = finite
        self.numbers = numbers
        self.name = name
        self.shape = tuple(shape)
        self.dtype = dtype
        self.scope = Scope(scope)

    @property
    def facts(self) -> tuple[object, ...]:
        """Every fact of the buffer except its name: buffers of equal facts can stand for each other."""
        return self.shape, self.dtype, self.scope, self.layout, self.finite, self.numbers

    def replace(self, **changed: Any) -> Buffer:
        """A new buffer for the same elements, with every fact of this one except the given arguments of `__init__`.

        A new `shape` drops the layout, which orders a shape. A new `dtype` drops `numbers`, and `finite` unless it holds every number
        of the old dtype.
        """
        facts = {n: getattr(self, n) for n in Buffer.__slots__}
        if "shape" in changed:
            facts["layout"] = None
        if "dtype" in changed:
            facts["numbers"] = ""
            facts["finite"] = self.finite and dtypes.largest(changed["dtype"]) >= dtypes.largest(self.dtype)
        return Buffer(**facts | changed)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for d in self.shape:
            n *= d
        return n

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.size * dtypes.itemsize(self.dtype)

    def offset(self, indices: Sequence[Expr]) -> Expr:
        """The offset of the element, in elements from the beginning."""
        total: Expr = const(0)
        if self.layout is None:
            for extent, i in zip(self.shape, indices):
                total = total * extent + i
            return total
        for axis, divisor, extent in self.layout:
            digit = indices[axis] // divisor
            if divisor * extent < self.shape[axis]:
                digit = digit % extent
            total = total * extent + digit
        return total

    def __getitem__(self, indices: Any) -> Load:
        return Load(self, _indices(self, indices))

    def element(self) -> Load:
        """The one element of a buffer of rank 0."""
        return self[()]

    def __repr__(self) -> str:
        return f"{self.name}: Buffer({self.dtype}, {list(self.shape)})"


def _indices(buffer: Buffer, indices: Any) -> tuple[Expr, ...]:
    if not isinstance(indices, tuple | list):
        indices = (indices,)
    if len(indices) != buffer.ndim:
        raise TypeError(f"{buffer.name} has {buffer.ndim} axes, {len(indices)} indices were given")
    return tuple(as_expr(i) for i in indices)


class Stmt:
    """Base of statements."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _show_stmt(self)


def last_step(steps: int) -> int:
    """The greatest value of a loop's variable, 0 without steps; with a length that the run knows, a loop without steps has no values."""
    return max(steps - 1, 0) if is_known(steps) else steps - 1


class For(Stmt):
    """A loop of `var` over 0 … extent - 1. `kind` is `serial`, `parallel`, `vectorized` or `unrolled`; or `tiled`, of a loop of one step
    around sums that matrix tiles may make (see `schedule.strategies.matrix_tile.nest`). `unroll` is a hint to the compiler of the text
    that is printed: to write the steps out, or not to; None leaves it to the compiler."""

    __slots__ = ("body", "extent", "kind", "unroll", "var")

    def __init__(
        self, var: Var, extent: Expr | int, body: Stmt, kind: str = SERIAL, unroll: bool | None = None
    ) -> None:
        self.var = var
        self.extent = as_expr(extent)
        self.body = body
        self.kind = kind
        self.unroll = unroll

    @property
    def steps(self) -> int:
        """The number of steps of a loop of constant extent."""
        assert isinstance(self.extent, Const)
        return self.extent.int_value

    @property
    def last(self) -> int:
        """The greatest value of the variable in a loop of constant extent that has steps."""
        return last_step(self.steps)


class Store(Stmt):
    """`buffer[indices] = value`."""

    __slots__ = ("buffer", "indices", "value")

    def __init__(self, buffer: Buffer, indices: Sequence[Expr], value: Expr) -> None:
        self.buffer = buffer
        self.indices = tuple(indices)
        self.value = value

    def rewritten(self, change: Callable[[Expr], Expr]) -> Store:
        """The store of the changed value at the changed indices."""
        return Store(self.buffer, [change(i) for i in self.indices], change(self.value))


class If(Stmt):
    """`then` where `cond` holds, else `other` (or nothing)."""

    __slots__ = ("cond", "other", "then")

    def __init__(self, cond: Expr, then: Stmt, other: Stmt | None = None) -> None:
        self.cond = cond
        self.then = then
        self.other = other


class While(Stmt):
    """Runs `body` as long as `cond` holds; `cond` is evaluated anew each time."""

    __slots__ = ("body", "cond")

    def __init__(self, cond: Expr, body: Stmt) -> None:
        self.cond = cond
        self.body = body


class Let(Stmt):
    """`var` stands for `value`, computed once, in `body`."""

    __slots__ = ("body", "value", "var")

    def __init__(self, var: Var, value: Expr, body: Stmt) -> None:
        self.var = var
        self.value = value
        self.body = body


class Allocate(Stmt):
    """`buffer` exists in `body`."""

    __slots__ = ("body", "buffer")

    def __init__(self, buffer: Buffer, body: Stmt) -> None:
        self.buffer = buffer
        self.body = body


class AllocateConst(Stmt):
    """`buffer` exists in `body` and holds `data`, a numpy array of as many elements of its dtype; it is only read.

    `storage_index` is the number of the data among the constants of the module, once they have been collected there; None
    before.
    """

    __slots__ = ("body", "buffer", "data", "storage_index")

    def __init__(self, buffer: Buffer, data: Any, body: Stmt, storage_index: int | None = None) -> None:
        self.buffer = buffer
        self.data = data
        self.body = body
        self.storage_index = storage_index


class Prefetch(Stmt):
    """Asks for the line of memory that a load at `place` would read, without waiting for it. No value changes. The place may be
    beyond the buffer's end."""

    __slots__ = ("place",)

    def __init__(self, place: Load) -> None:
        self.place = place


PREFETCH_SCOPE = "prefetch_scope"
DOUBLE_BUFFER_SCOPE = "double_buffer_scope"


class Annotate(Stmt):
    """Tells the pass that looks for `key` about `buffer` in `body`. No value changes: compiled code has no trace of it.

    Keys and values, an integer each, are those of TVM's `AttrStmt`: `prefetch_scope` (see `inject_prefetch`) and
    `double_buffer_scope` (see `inject_double_buffer`).
    """

    __slots__ = ("body", "buffer", "key", "value")

    def __init__(self, buffer: Buffer, key: str, value: Expr | int, body: Stmt) -> None:
        self.buffer = buffer
        self.key = key
        self.value = as_expr(value)
        self.body = body


class Seq(Stmt):
    """One after the other."""

    __slots__ = ("stmts",)

    def __init__(self, stmts: Sequence[Stmt]) -> None:
        self.stmts = tuple(stmts)


class Lowered(Stmt):
    """`body`, with the `code` of a backend that does the same."""

    __slots__ = ("body", "code")

    def __init__(self, body: Stmt, code: Any) -> None:
        self.body = body
        self.code = code


def seq(stmts: Sequence[Stmt]) -> Stmt:
    """The statements one after the other: nested `Seq`s are flattened, a single one stands alone."""
    flat: list[Stmt] = []
    for s in stmts:
        flat += s.stmts if isinstance(s, Seq) else [s]
    return flat[0] if len(flat) == 1 else Seq(flat)


class PrimFunc:
    """A named loop nest. `params` are the buffers it is handed, inputs first, then `num_outputs` outputs.

    Every buffer allocated in the body with scope `GLOBAL` needs a place from the memory planner. `attrs` says what the
    function was made from and how (`strategy`, `flops` …), for reports. `checked_type` is its Relay type, where it is a
    function of a Relay module; `preflattened` are the parameters as they were before `flatten`, if that was done. `written` is
    the text that it was read from, which it prints as; what is made of it has none.
    """

    __slots__ = ("attrs", "body", "checked_type", "name", "num_outputs", "params", "preflattened", "written")

    def __init__(
        self,
        name: str,
        params: Sequence[Buffer],
        body: Stmt,
        num_outputs: int = 1,
        attrs: Mapping[str, Any] | None = None,
        checked_type: Any = None,
        preflattened: Sequence[Buffer] = (),
        written: str = "",
    ) -> None:
        self.written = written
        self.name = name
        self.params = tuple(params)
        self.body = body
        self.num_outputs = num_outputs
        self.attrs = dict(attrs or {})
        self.checked_type = checked_type
        self.preflattened = tuple(preflattened)

    @property
    def original_params(self) -> tuple[Buffer, ...]:
        """The parameters in the shapes that callers know: as they were before `flatten`."""
        return self.preflattened or self.params

    @property
    def inputs(self) -> tuple[Buffer, ...]:
        return self.params[: len(self.params) - self.num_outputs]

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        return self.params[len(self.params) - self.num_outputs :]

    def with_body(self, body: Stmt, **attrs: Any) -> PrimFunc:
        """The same function over another body; `attrs` are added."""
        if body is self.body and not attrs:
            return self
        attrs = {**self.attrs, **attrs}
        return PrimFunc(self.name, self.params, body, self.num_outputs, attrs, self.checked_type, self.preflattened)

    def structural_words(self) -> list[Any]:
        """Words that are equal for nests of the same structure; `ir.structural` asks for them."""
        return _structural_words(self)

    def __repr__(self) -> str:
        return _show_function(self)


def _no_parts(s: Any) -> tuple[Any, ...]:
    return ()


def _body_alone(s: Any) -> tuple[Stmt, ...]:
    return (s.body,)


_CHILDREN: dict[type, Callable[[Any], tuple[Stmt, ...]]] = {
    Seq: lambda s: s.stmts,
    If: lambda s: (s.then,) if s.other is None else (s.then, s.other),
    **dict.fromkeys((For, While, Let, Allocate, AllocateConst, Annotate, Lowered), _body_alone),
}

_EXPRESSIONS: dict[type, Callable[[Any], tuple[Expr, ...]]] = {
    Store: lambda s: (*s.indices, s.value),
    For: lambda s: (s.extent,),
    If: lambda s: (s.cond,),
    While: lambda s: (s.cond,),
    Let: lambda s: (s.value,),
    Prefetch: lambda s: (s.place,),
    Annotate: lambda s: (s.value,),
}


def children(s: Stmt) -> tuple[Stmt, ...]:
    """The statements directly below."""
    return _CHILDREN.get(s.__class__, _no_parts)(s)


def expressions(s: Stmt) -> tuple[Expr, ...]:
    """The expressions that this node itself holds."""
    return _EXPRESSIONS.get(s.__class__, _no_parts)(s)


def rebuild(s: Stmt, kids: Sequence[Stmt], exprs: Sequence[Expr]) -> Stmt:
    """`s` over other children and expressions (in the order of `children` and `expressions`); `s` if nothing differs."""
    if all(map(is_, children(s), kids)) and all(map(is_, expressions(s), exprs)):
        return s
    if isinstance(s, Seq):
        return seq(kids)
    if isinstance(s, Store):
        return Store(s.buffer, exprs[:-1], exprs[-1])
    if isinstance(s, For):
        return For(s.var, exprs[0], kids[0], s.kind, s.unroll)
    if isinstance(s, If):
        return If(exprs[0], kids[0], kids[1] if len(kids) > 1 else None)
    if isinstance(s, While):
        return While(exprs[0], kids[0])
    if isinstance(s, Let):
        return Let(s.var, exprs[0], kids[0])
    if isinstance(s, AllocateConst):
        return AllocateConst(s.buffer, s.data, kids[0], s.storage_index)
    if isinstance(s, Prefetch):
        assert isinstance(exprs[0], Load)
        return Prefetch(exprs[0])
    if isinstance(s, Annotate):
        return Annotate(s.buffer, s.key, exprs[0], kids[0])
    assert isinstance(s, Allocate)
    return Allocate(s.buffer, kids[0])


def pre_order(root: Stmt) -> Iterator[Stmt]:
    """Every statement, parents first, in order of execution."""
    stack = [root]
    while stack:
        s = stack.pop()
        yield s
        stack.extend(reversed(children(s)))


def rewrite_stmt(root: Stmt, change: Callable[[Stmt], Stmt], change_expr: Callable[[Expr], Expr] | None = None) -> Stmt:
    """`root` with `change_expr` applied to every expression that a statement holds, then `change` to every statement,
    children first. Either may return its argument."""
    done: dict[Stmt, Stmt] = {}
    stack: list[tuple[Stmt, bool]] = [(root, False)]
    while stack:
        s, ready = stack.pop()
        kids = children(s)
        if not ready and kids:
            stack.append((s, True))
            stack.extend((k, False) for k in kids if k not in done)
            continue
        exprs = expressions(s)
        if change_expr is not None:
            exprs = tuple(change_expr(e) for e in exprs)
        done[s] = change(rebuild(s, [done[k] for k in kids], exprs))
    return done[root]


def without_annotations(root: Stmt) -> Stmt:
    """The statement with the bodies of annotations in their place; itself if it has none."""
    return rewrite_stmt(root, lambda s: s.body if isinstance(s, Annotate) else s)


def substitute_stmt(root: Stmt, values: Mapping[Any, Expr]) -> Stmt:
    """`root` with variables replaced."""
    from .expr import substitution

    return rewrite_stmt(root, lambda s: s, substitution(values))
