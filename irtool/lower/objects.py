"""Values in the region of a run: constructors make objects, `match` decides by their tags, references are objects that are written, and
functions that are values are objects of what they captured.

A value is a slot for each leaf of its type; the leaf of data, a function or a reference is a handle. A function that is called where it is
known stays a `Closure`, and becomes an object where it is handed on.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from ..deferred import np
from ..diagnostics import IrError
from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    FuncType,
    GlobalVar,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefType,
    RefWrite,
    TupleType,
    Type,
    Var,
)
from ..tir.dtypes import HANDLE
from ..tir.errors import MATCH_ERROR
from ..tir.program import PARAM, RESULT, CallFunction, Fail, HostFunction, Slot, Step, Switch
from ..tir.region import (
    Decide,
    Field,
    Layout,
    MakeObject,
    ReadObject,
    WriteObject,
)
from .decisions import Need, decide
from .function_state import FunctionState
from .handles import field_types, leaf_types
from .layouts import Layouts
from .mistakes import NoCounterpart
from .shared import Codes
from .values import REFUSED, Closure, Value, dims, nest, structure_of

# ---------------------------------------------------------------------------------------------------------------------
# Values as slots


def slots_of(within: FunctionState, value: Value, t: Type | None, e: Expr) -> list[Slot]:
    """The slots of a value of that type: functions become objects. Raises IrError for a function that cannot."""
    result: list[Slot] = []
    stack: list[tuple[Value, Any]] = [(value, t)]
    while stack:
        v, x = stack.pop()
        if isinstance(x, TupleType):
            stack += reversed(list(zip(v, x.fields, strict=True)))
        elif isinstance(v, Slot):
            result.append(v)
        else:
            result.append(_function_object(within, v, x, e))
    return result


def _function_object(within: FunctionState, v: Value, t: Any, e: Expr) -> Slot:
    """The handle of a function that is a value."""
    whole = within.whole
    if not isinstance(t, FuncType) or not isinstance(v, Closure | GlobalVar):
        raise IrError(f"a value of type {t} has no counterpart in C here", e.span, code=NoCounterpart)
    if isinstance(v, GlobalVar):
        function = whole.module[v.name]
        if not isinstance(function, Function) or function.type_params:
            raise IrError(
                f"{v!r} is used as a value: only a function of one type, with a body, has a counterpart in C",
                e.span,
                code=NoCounterpart,
            )
        name, captured = whole.enqueue(v.name), list[Slot]()
    else:
        name, captured = whole.lift(v, within.name)
    codes = _codes(within, t, e)
    layout = codes.layouts.get(name)
    if layout is None:
        layout = codes.layouts[name] = whole.layouts.of_function(len(codes.layouts), name, captured)
    return make(within, layout, captured)


def _codes(within: FunctionState, t: FuncType, e: Expr) -> Codes:
    params = [x for a in t.arg_types for x in leaf_types(a, e)]
    return within.whole.codes_of(t, params, leaf_types(t.ret_type, e))


def make(within: FunctionState, layout: Layout, fields: Sequence[Slot]) -> Slot:
    """The handle of a new object; one without fields is a constant."""
    if not layout.fields:
        return within.whole.constant(Constant(np.asarray(-1 - layout.tag, "int64"), HANDLE))
    handle = within.blocks.fresh((), HANDLE)
    within.blocks.add(MakeObject(list(fields), [handle], layout))
    return handle


# ---------------------------------------------------------------------------------------------------------------------
# Constructors, references, calls


def construct(within: FunctionState, constructor: Constructor, args: Sequence[Expr], e: Expr) -> Slot:
    """The handle of the data that a constructor makes."""
    types = field_types(within.whole.module, constructor, e.checked_type)
    layout = within.whole.layouts.of_constructor(constructor, e.checked_type, e)
    fields = [s for a, t in zip(args, types, strict=True) for s in slots_of(within, within.known_value(a), t, a)]
    return make(within, layout, fields)


def create_reference(within: FunctionState, e: RefCreate) -> Slot:
    """The handle of a new reference."""
    t = e.checked_type
    assert isinstance(t, RefType)
    return make(
        within, within.whole.layouts.of_reference(t, e), slots_of(within, within.known_value(e.value), t.value, e)
    )


def read_or_write(within: FunctionState, e: RefRead | RefWrite) -> Value:
    """The value of a reference, or the empty tuple after it was written."""
    handle, t = within.blocks.find(e.ref), e.ref.checked_type
    assert isinstance(handle, Slot) and isinstance(t, RefType)
    fields = within.whole.layouts.of_reference(t, e).fields
    if isinstance(e, RefWrite):
        values = slots_of(within, within.known_value(e.value), t.value, e)
        if fields:
            within.blocks.add(WriteObject([handle, *values], fields))
        return ()
    outputs = [within.blocks.fresh(f.shape, f.dtype) for f in fields]
    if fields:
        within.blocks.add(ReadObject([handle], outputs, (), fields))
    return nest(structure_of(t.value), iter(outputs))


def call_of_handle(within: FunctionState, handle: Slot, e: Call) -> tuple[str, list[Slot]]:
    """The function of the program that calls a function by its handle, and the arguments in front of the others."""
    t = e.op.checked_type
    assert isinstance(t, FuncType)
    return _codes(within, t, e).name, [handle]


def apply_function(codes: Codes) -> HostFunction:
    """The function that calls the functions of one type by their handles."""
    handle = Slot("function", (), HANDLE, PARAM)
    params = [Slot(f"x{n}", dims(t), t.dtype, PARAM) for n, t in enumerate(codes.params[0])]
    results = [Slot(f"out{n}", dims(t), t.dtype, RESULT) for n, t in enumerate(codes.params[1])]
    arms: list[list[Step]] = []
    for name, layout in codes.layouts.items():
        captured = [Slot(f"captured{k}", f.shape, f.dtype) for k, f in enumerate(layout.fields)]
        read: list[Step] = [ReadObject([handle], list(captured), (), layout.fields)] if captured else []
        arms.append([*read, CallFunction(name, [*params, *captured], list(results))])
    if len(arms) > 1:
        number = Slot("number", (), "int32")
        needs = [[Need(0, (), layout.tag, len(arms))] for layout in codes.layouts.values()]
        body: list[Step] = [Decide([handle], [number], decide(needs, 0)), Switch(number, arms, list(results))]
    else:
        body = arms[0] if arms else [Fail([], list(results), MATCH_ERROR)]
    return HostFunction(codes.name, [handle, *params], results, body)


# ---------------------------------------------------------------------------------------------------------------------
# Match


@dataclass(frozen=True)
class _Inside:
    """A part of an object: the number of the root, the path of handles to the object, and the part's fields."""

    root: int
    path: tuple[int, ...]
    fields: tuple[Field, ...]


class _TakenApart:
    """The tests of a pattern, and the parts of the value that its variables name.

    Attributes:
        roots: the numbers of handles that paths begin at.
        needs: tags that the value has if the pattern fits.
        parts: the variables, each with a value, or a part of an object and its type.
    """

    def __init__(
        self, layouts: Layouts, roots: dict[Slot, int], pattern: Pattern, value: Value, t: Type | None
    ) -> None:
        self.roots = roots
        self.needs: list[Need] = []
        self.parts: list[tuple[Var, Value | _Inside, Any]] = []
        stack: list[tuple[Pattern, Value | _Inside, Any]] = [(pattern, value, t)]
        while stack:
            p, v, x = stack.pop()
            if isinstance(p, PatternVar):
                self.parts.append((p.var, v, x))
            elif isinstance(p, PatternTuple):
                parts = _split(v, x.fields) if isinstance(v, _Inside) else v
                stack += reversed(list(zip(p.patterns, parts, x.fields, strict=True)))
            elif isinstance(p, PatternConstructor):
                root, path = self._object(v)
                constructor = p.constructor
                count = len(layouts.module.type_definitions[constructor.belong_to.name].constructors)
                if count > 1:
                    self.needs.append(Need(root, path, constructor.tag, count))
                types = field_types(layouts.module, constructor, x)
                fields = layouts.of_constructor(constructor, x).fields
                parts = _split(_Inside(root, path, fields), types)
                stack += reversed(list(zip(p.patterns, parts, types, strict=True)))

    def _object(self, v: Value | _Inside) -> tuple[int, tuple[int, ...]]:
        if isinstance(v, _Inside):
            return v.root, (*v.path, v.fields[0].offset)
        return self.roots.setdefault(v, len(self.roots)), ()


def _split(part: _Inside, types: Sequence[Type]) -> list[_Inside]:
    result, begin = [], 0
    for t in types:
        end = begin + len(leaf_types(t))
        result.append(_Inside(part.root, part.path, part.fields[begin:end]))
        begin = end
    return result


def lower_match(within: FunctionState, e: Match) -> Generator[Any, Any, Value]:
    """The arm of the first clause that fits; the last clause of a complete match fits all other values."""
    value = yield within.value(e.data)
    if value is REFUSED:
        return REFUSED
    blocks = within.blocks
    types = leaf_types(e.checked_type, e)
    roots: dict[Slot, int] = {}
    parts: list[_TakenApart] = []
    for n, clause in enumerate(e.clauses):
        part = _TakenApart(within.whole.layouts, roots, clause.pattern, value, e.data.checked_type)
        parts.append(part)
        if e.complete and n == len(e.clauses) - 1:
            part.needs = []
        if not part.needs:
            break
    if parts and not parts[0].needs:
        _learn(within, parts[0])
        return (yield within.value(e.clauses[0].body))
    results = [blocks.fresh(dims(t), t.dtype) for t in types]
    if not parts:
        blocks.add(Fail([], list(results), MATCH_ERROR))
        return nest(structure_of(e.checked_type), iter(results))
    number = blocks.fresh((), "int32")
    blocks.add(Decide(list(roots), [number], decide([p.needs for p in parts], len(parts))))
    arms: list[list[Step]] = []
    refused = False
    for part, clause in zip(parts, e.clauses):
        blocks.open()
        _learn(within, part)
        body = yield within.value(clause.body)
        if body is REFUSED:
            refused = True
        else:
            for source, target in zip(slots_of(within, body, e.checked_type, clause.body), results, strict=True):
                blocks.deliver(source, target)
        arms.append(blocks.close())
    if parts[-1].needs:
        arms.append([Fail([], list(results), MATCH_ERROR)])
    blocks.add(Switch(number, arms, results))
    return REFUSED if refused else nest(structure_of(e.checked_type), iter(results))


def _learn(within: FunctionState, taken: _TakenApart) -> None:
    """Reads the parts that variables name."""
    roots = list(taken.roots)
    for var, v, t in taken.parts:
        if isinstance(v, _Inside):
            outputs = [within.blocks.fresh(f.shape, f.dtype) for f in v.fields]
            if outputs:
                within.blocks.add(ReadObject([roots[v.root]], outputs, v.path, v.fields))
            v = nest(structure_of(t), iter(outputs))
        within.blocks.learn(var, v)
