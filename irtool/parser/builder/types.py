"""Types and dimensions."""

from __future__ import annotations

from typing import Any

from ...ir import (
    ANY,
    DimVar,
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeVar,
    scalar,
)
from ...ir.dims import is_dimension
from ...ir.dtypes import read_dtype
from ...ops.habits import dtype_meant
from ..literals import read_attribute_number
from ..mistakes import MalformedType
from .extents import Extents


class Types(Extents):
    """Builds types."""

    def static_tensor(self, v: list, s: int, e: int) -> Type:
        text = v[0]
        result = self._tensor_types.get(text)
        if result is None:
            close = text.index(")")
            dims = text[8:close]
            shape = tuple(map(int, dims.split(","))) if dims else ()
            if any(d > 2147483647 for d in shape):
                shape = tuple(read_attribute_number(str(d)) for d in shape)  # type: ignore[misc]  # the rule takes whole numbers only
            result = TensorType(shape, self._dtype(text[close + 2 : -1].strip(), s, e))
            self._tensor_types[text] = result
        return result

    def tensor(self, v: list, s: int, e: int) -> Type:
        return TensorType(tuple(v[2]), self._dtype(v[4], s, e), self.span(s, e))

    def _dtype(self, name: str, s: int, e: int) -> str:
        dtype = read_dtype(name)
        if dtype is None:
            self.error(
                f"{name} is not a dtype",
                s,
                e,
                help=dtype_meant(name),
                code=MalformedType,
            )
            return "float32"
        return dtype

    def number_dim(self, v: list, s: int, e: int) -> int:
        if not isinstance(v[0], int) or v[0] < 0:
            self.error(
                f"a dimension is a number that is not negative, not {self.source.text[s:e][:40]}",
                s,
                e,
                code=MalformedType,
            )
            return 1
        return v[0]

    def any_dim(self, v: list, s: int, e: int) -> Any:
        return ANY

    def named_dim(self, v: list, s: int, e: int) -> Any:
        extent = self.length(v[0])
        if extent is not None:
            return extent
        var = self.dim_names.get(v[0])
        if var is None:
            var = self.dim_names[v[0]] = DimVar(v[0])
        return var

    def meta_dim(self, v: list, s: int, e: int) -> Any:
        dim = self._meta(v[0], s, e)
        if not is_dimension(dim):
            self.error(f"{v[0]} is not a dimension", s, e, code=MalformedType)
            return ANY
        return dim

    def named_type(self, v: list, s: int, e: int) -> Type:
        name = v[0]
        var = self.type_variables.get(name)
        if var is not None:
            return var
        if name not in self._dtypes:
            self._dtypes[name] = None if name in self.type_definitions else read_dtype(name)
        dtype = self._dtypes[name]
        if dtype is not None:
            return scalar(dtype)
        return TypeCall(self._type_name(name, s, e), (), self.span(s, e))

    def applied_to_nothing(self, v: list, s: int, e: int) -> Type:
        return self.applied_type([v[0], None, ()], s, e)

    def applied_type(self, v: list, s: int, e: int) -> Type:
        head: Type = self.type_variables.get(v[0]) or self._type_name(v[0], s, s + len(v[0]))
        return TypeCall(head, tuple(v[2]), self.span(s, e))

    def _type_name(self, name: str, s: int, e: int) -> GlobalTypeVar:
        if name not in self.type_names:
            self.type_names[name] = self.span(s, e)
        return GlobalTypeVar(name)

    def unit_type(self, v: list, s: int, e: int) -> Type:
        return TupleType((), self.span(s, e))

    def tuple_type(self, v: list, s: int, e: int) -> Type:
        return TupleType(tuple(v[1]), self.span(s, e))

    def function_type(self, v: list, s: int, e: int) -> Type:
        return FuncType(tuple(v[1]), v[3], (), self.span(s, e))

    def fn_type_params(self, v: list, s: int, e: int) -> tuple[TypeVar, ...]:
        return v[1]

    def generic_function_type(self, v: list, s: int, e: int) -> Type:
        self.close_type_scope(v[0])
        return FuncType(tuple(v[1]), v[3], v[0], self.span(s, e))

    def ref_type(self, v: list, s: int, e: int) -> Type:
        return RefType(v[2], self.span(s, e))

    def unknown_type(self, v: list, s: int, e: int) -> Type:
        return IncompleteType("type", self.span(s, e))
