"""A module: functions and type definitions by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..diagnostics import UsageError, nearest
from ..hooks import Hook
from .adt import TypeData
from .expr import Constructor, Expr, Function, GlobalVar
from .provided import freeze, missing_attribute, text_of, to_html, to_text
from .walk import free_variables

_standard_library: Hook[[str], Module] = Hook("ir.standard_library")


class UnknownFunction(UsageError, KeyError):
    """A module was asked for a function that it does not have."""

    __str__ = Exception.__str__


class Module:
    """The contents of one `.relay` text. Immutable: `with_functions` and friends return another module.

    Attributes:
        functions: by name without `@`, in order of definition. A value is a `Function`, an
            `ExternFunction`, or a `tir.PrimFunc` once lowered.
        type_definitions: by name, in order of definition.
        attrs: module attributes of TVM: `executor` and `runtime`; of a lowered module `main_func_info`, `constants` and
            `device_contexts`. They have no text.
        metadata: entries of the text's metadata section without a reference in the functions; kept to print them again.
    """

    __slots__ = ("__weakref__", "_constructors", "attrs", "functions", "metadata", "type_definitions")

    def __init__(
        self,
        functions: Mapping[str, Any] | None = None,
        type_definitions: Mapping[str, TypeData] | None = None,
        attrs: Mapping[str, Any] | None = None,
        metadata: Any = None,
    ) -> None:
        self.functions: Mapping[str, Any] = dict(functions or {})
        self.type_definitions: Mapping[str, TypeData] = dict(type_definitions or {})
        self.attrs: Mapping[str, Any] = dict(attrs or {})
        self.metadata = metadata
        self._constructors: dict[str, Constructor] | None = None

    @classmethod
    def from_expr(
        cls,
        expr: Expr,
        functions: Mapping[str | GlobalVar, Any] | None = None,
        type_definitions: Mapping[str, TypeData] | None = None,
    ) -> Module:
        """A module whose `@main` is `expr`; a function is taken as it is, named by its `global_symbol` if it has one.

        The free variables of any other expression become the parameters, in order of first use. `functions` are added
        under their names. Raises UsageError if `expr` is no expression, or a function of that name is given twice.
        """
        if not isinstance(expr, Expr):
            raise UsageError(f"an expression is expected, not {describe(expr)}")
        f = _as_function(expr)
        main = f.attrs.get("global_symbol") or "main"
        named = {_name(n): g for n, g in (functions or {}).items()}
        if main in named:
            raise UsageError(f"there are two functions @{main}: the expression, and one of `functions`")
        return cls({main: f, **named}, type_definitions)

    def import_from_std(self, file: str) -> Module:
        """Adds the definitions of a file of TVM's standard library (`prelude.rly`, `core.rly`, `gradient.rly`, `nat.rly`) that the module
        does not have, in place, as TVM does; it is for modules that nothing else knows yet. Raises IrError for another file.
        """
        std = _standard_library(file)
        self.functions = {**std.functions, **self.functions}
        self.type_definitions = {**std.type_definitions, **self.type_definitions}
        self._constructors = None
        return self

    @classmethod
    def of(cls, what: Any) -> Module:
        """`what` if it is a module; one with it as `@main` if it is an expression. Raises UsageError for anything else."""
        if isinstance(what, Module):
            return what
        if isinstance(what, Expr):
            return cls({"main": _as_function(what)})
        from .no_module import next_step

        message = f"a module, a function or an expression is expected, not {describe(what)}"
        raise UsageError(message, help=next_step(what))

    def __getitem__(self, name: str | GlobalVar) -> Any:
        """The function of that name. Raises UsageError, which is a KeyError, too, for an unknown name."""
        try:
            return self.functions[_name(name)]
        except KeyError:
            raise UnknownFunction(
                f"the module has no function @{_name(name)}", help=nearest(_name(name), self.functions)
            ) from None

    def __contains__(self, name: object) -> bool:
        return _name(name) in self.functions

    def __iter__(self) -> Iterator[str]:
        """The names of the functions, in order."""
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __bool__(self) -> bool:
        return True

    def get_global_var(self, name: str) -> GlobalVar:
        """A reference to the function of that name, for calls of it. Raises as `module[name]` does."""
        self[name]
        return GlobalVar(name)

    def get_global_vars(self) -> list[GlobalVar]:
        """A reference to each function, in order."""
        return [GlobalVar(n) for n in self.functions]

    @property
    def constructors(self) -> Mapping[str, Constructor]:
        """Every constructor of every type definition, by name."""
        if self._constructors is None:
            self._constructors = {c.name: c for t in self.type_definitions.values() for c in t.constructors}
        return self._constructors

    @property
    def relay_functions(self) -> dict[str, Function]:
        """The functions that are Relay (not lowered)."""
        return {n: f for n, f in self.functions.items() if isinstance(f, Function)}

    def with_functions(self, functions: Mapping[str, Any]) -> Module:
        """The same module over other functions; this module if they are the same objects in the same order."""
        if len(functions) == len(self.functions) and all(
            a == b and f is g for (a, f), (b, g) in zip(functions.items(), self.functions.items(), strict=True)
        ):
            return self
        return Module(functions, self.type_definitions, self.attrs, self.metadata)

    def with_function(self, name: str, function: Any) -> Module:
        """The same module with one function replaced or added."""
        return self.with_functions({**self.functions, name: function})

    def with_types(self, type_definitions: Mapping[str, TypeData]) -> Module:
        """The same module with other type definitions."""
        return Module(self.functions, type_definitions, self.attrs, self.metadata)

    def with_attrs(self, attrs: Mapping[str, Any]) -> Module:
        """The same module with other attributes."""
        return Module(self.functions, self.type_definitions, attrs, self.metadata)

    def fresh_name(self, hint: str) -> str:
        """`hint`, or the first of `hint1`, `hint2`, … that names no function yet."""
        if hint not in self.functions:
            return hint
        n = 1
        while f"{hint}{n}" in self.functions:
            n += 1
        return f"{hint}{n}"

    def __reduce__(self) -> Any:
        return freeze(self)

    def __str__(self) -> str:
        return text_of(self)

    def astext(self, show_meta_data: bool = True) -> str:
        """The text, with or without its metadata section: TVM's word for `irtool.to_text`."""
        return to_text(self, metadata=show_meta_data)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raises an AttributeError that names the counterpart of a name of TVM's."""
            raise missing_attribute(self, name)

    def _repr_html_(self) -> str:
        """In colour, for notebooks."""
        return to_html(self)

    def __repr__(self) -> str:
        return f"Module({', '.join('@' + n for n in self.functions)})"


def describe(what: Any) -> str:
    """The kind of a value, for messages about a wrong one."""
    if what is None:
        return "None"
    kind = type(what).__name__
    return f"{'an' if kind[:1].lower() in 'aeio' else 'a'} {kind}" + (
        f" ({what!r:.40})" if isinstance(what, str) else ""
    )


def _as_function(expr: Expr) -> Function:
    return expr if isinstance(expr, Function) else Function(tuple(free_variables(expr)), expr)


def _name(name: Any) -> Any:
    return name.name if isinstance(name, GlobalVar) else name
