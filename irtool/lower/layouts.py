"""The objects of a program: one layout, with a number of its own, for each constructor of a data type, reference and function."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from ..diagnostics import IrError
from ..ir import Constructor, Expr, FuncType, Module, RefType, TensorType, Type, TypeCall, tuple_leaves
from ..ir.types import data_name
from ..symbolic_int import SymbolicInt
from ..tir.program import Slot
from ..tir.region import Layout, lay_out
from ..tir.values import Alternative, ValueType
from .handles import field_types, is_handle, leaf_types
from .mistakes import DynamicShape, NoCounterpart
from .values import structure_of


class Layouts:
    """The layouts of a program's objects, and the types of values that callers of its entries see.

    Attributes:
        all: the layouts, by their numbers from 1.
        types: types of parameters and results of entries, and of what is in them.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.all: list[Layout] = []
        self.types: list[ValueType] = []
        self._layouts: dict[Hashable, Layout] = {}
        self._numbers: dict[Type, int] = {}

    def of_constructor(self, constructor: Constructor, data: Type | None, what: Expr | None = None) -> Layout:
        """The object of a constructor in values of the type `data`."""
        arguments = data.args if isinstance(data, TypeCall) else ()
        key = constructor.belong_to.name, constructor.tag, arguments
        known = self._layouts.get(key)
        if known is not None:
            return known
        types = field_types(self.module, constructor, data)
        return self._add(key, constructor.tag, constructor.name, _leaves(types, what))

    def of_reference(self, t: RefType, what: Expr | None = None) -> Layout:
        """The cell of references of a type."""
        return self._layouts.get(t) or self._add(t, 0, "Ref", _leaves([t.value], what))

    def of_function(self, tag: int, name: str, captured: Sequence[Slot]) -> Layout:
        """The object of a function that is a value, number `tag` of those of its type."""
        return self._add(("function", name, tag), tag, name, [(s.shape, s.dtype) for s in captured])

    def _add(self, key: Hashable, tag: int, name: str, fields: Sequence[tuple[Sequence[int], str]]) -> Layout:
        layout = replace(Layout(tag, name, lay_out(fields)), number=len(self.all) + 1)
        self._layouts[key] = layout
        self.all.append(layout)
        return layout

    def number(self, t: Type, what: Expr | None = None) -> int:
        """The number of a type of data or references among the types that callers see, which it becomes with all types in it. Raises
        IrError where functions, or tensors without a known shape, are in it."""
        if t not in self._numbers:
            self._see(t, what)
        return self._numbers[t]

    def _see(self, root: Type, what: Expr | None) -> None:
        """Adds a type and those in it: objects of one type get consecutive numbers."""
        new: list[Type] = [root]
        objects: list[list[tuple[Layout, list[Type]]]] = []
        first = len(self.types)
        numbers = {root: first}
        for t in new:  # the list grows
            cases = self._alternatives(t, root, what)
            objects.append(cases)
            for _, types in cases:
                for x in _all_leaves(types):
                    if is_handle(x) and x not in numbers and x not in self._numbers:
                        numbers[x] = first + len(new)
                        new.append(x)
        self._numbers.update(numbers)
        for t, cases in zip(new, objects, strict=True):
            alternatives = []
            for layout, types in cases:
                targets = tuple(self._numbers[x] if is_handle(x) else -1 for x in _all_leaves(types))
                alternatives.append(Alternative(layout, tuple(map(structure_of, types)), targets))
            data = "" if isinstance(t, RefType) else data_name(t)
            self.types.append(ValueType(str(t).removesuffix("[]"), data, tuple(alternatives)))

    def _alternatives(self, t: Type, root: Type, what: Expr | None) -> list[tuple[Layout, list[Type]]]:
        """The objects of a type, each with the types of its arguments."""
        if isinstance(t, FuncType):
            raise IrError(
                f"a value of type {root} cannot be a parameter or a result: there are functions in it, and a function has no "
                "representation that callers could read",
                what.span if what is not None else None,
                code=NoCounterpart,
            )
        if isinstance(t, RefType):
            cases = [(self.of_reference(t, what), [t.value])]
        else:
            definition = self.module.type_definitions.get(data_name(t))
            if definition is None or not definition.constructors:
                raise IrError(
                    f"a value of type {root} cannot be a parameter or a result: the type {t} has no constructors",
                    what.span if what is not None else None,
                    code=NoCounterpart,
                )
            cases = [(self.of_constructor(c, t, what), field_types(self.module, c, t)) for c in definition.constructors]
        if any(isinstance(d, SymbolicInt) for layout, _ in cases for f in layout.fields for d in f.shape):
            raise IrError(
                f"a value of type {root} cannot be a parameter or a result: the run decides shapes in it",
                what.span if what is not None else None,
                code=DynamicShape,
            )
        return cases


def _leaves(types: Sequence[Type], what: Expr | None) -> list[tuple[Sequence[int], str]]:
    leaves: list[TensorType] = [x for t in types for x in leaf_types(t, what)]
    return [(x.static_shape, x.dtype) for x in leaves]


def _all_leaves(types: Sequence[Type]) -> list[Type]:
    return [x for t in types for x in tuple_leaves(t)]
