"""Data types for the types of polymorphic functions: types that differ only in parts without their own variables share one."""

from __future__ import annotations

from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Any

from ..ir import UNIT, Constructor, FuncType, GlobalTypeVar, Type, TypeCall, TypeData, TypeVar
from ..ir.types import rebuild_type, rewrite_type, type_children
from ..ops.base import OperatorType
from ..trampoline import trampoline


class PolymorphicType:
    """A data type whose values are functions of a polymorphic type.

    ::

        fn [A](A, float32) -> A, fn [A](A, List[B]) -> A    ⇒    F[float32], F[List[B]]        F[T]: fn [A](A, T) -> A

    Attributes:
        header: its name.
        params: the parts that hold none of the function's own variables, in order.
        function: the function type, of `params` and its own variables.
        constructors: one for each function literal that is a value of it.
    """

    def __init__(self, name: str, params: Sequence[TypeVar], function: FuncType) -> None:
        self.header = GlobalTypeVar(name)
        self.params = tuple(params)
        self.function = function
        self.constructors: list[Constructor] = []

    def add_constructor(self, fields: Sequence[Type]) -> Constructor:
        """The constructor of a further function, which has captured values of these types."""
        number = len(self.constructors)
        self.constructors.append(
            Constructor(f"{self.header.name}_{number}", tuple(fields), self.header, number),
        )
        return self.constructors[-1]

    def applied(self, args: Sequence[Type], type_args: Sequence[Type]) -> tuple[list[Type], Type]:
        """The types of the arguments and of the result, where the function is called with these type arguments."""
        f = self.function
        values: dict[Type, Type] = {**dict(zip(self.params, args)), **dict(zip(f.type_params, type_args, strict=True))}
        *inputs, result = (rewrite_type(t, lambda x: values.get(x, x)) for t in type_children(f))
        return inputs, result

    def definition(self) -> TypeData:
        """The definition with the constructors so far."""
        return TypeData(self.header, self.params, tuple(self.constructors))


class PolymorphicTypes:
    """The data types for the polymorphic types of a module.

    Attributes:
        by_name: each by the name of its definition.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.by_name: dict[str, PolymorphicType] = {}
        self._names = names
        """Names of types and constructors that the module has."""
        self._by_form: dict[tuple[Any, ...], PolymorphicType] = {}

    def convert(self, root: Type, bindings: Mapping[TypeVar, Type]) -> Type:
        """A type with `bindings` for its free variables, data for polymorphic functions, and `()` for operators that are values."""
        converted: dict[int, tuple[Type, Type]] = {}
        """By identity of a type, which is kept alive here."""
        renamed: dict[int, Type] = {}
        stack = [(root, False)]
        while stack:
            t, ready = stack.pop()
            if id(t) in converted:
                continue
            if isinstance(t, OperatorType):
                converted[id(t)] = t, UNIT
            elif isinstance(t, TypeVar):
                converted[id(t)] = t, bindings.get(t, t)
            elif not t.is_generic:
                converted[id(t)] = t, t
            elif isinstance(t, FuncType) and any(p in bindings for p in t.type_params):
                if ready:
                    converted[id(t)] = t, converted[id(renamed[id(t)])][1]
                else:  # its own variables, not those of `bindings`
                    renamed[id(t)] = _renamed(t)
                    stack += [(t, True), (renamed[id(t)], False)]
            elif ready:
                new = rebuild_type(t, [converted[id(k)][1] for k in type_children(t)])
                converted[id(t)] = t, self._data(new) if isinstance(new, FuncType) and new.type_params else new
            else:
                stack.append((t, True))
                stack += [(k, False) for k in type_children(t)]
        return converted[id(root)][1]

    def _data(self, f: FuncType) -> TypeCall:
        """The data type of a function type in which no other polymorphic one is left."""
        own = {p: n for n, p in enumerate(f.type_params)}
        holds = _holders(f, own)
        form: list[Any] = [len(own), len(f.arg_types)]
        args: list[Type] = []
        params: list[TypeVar] = []

        def general(t: Type) -> Generator[Any, Any, Type]:
            if isinstance(t, TypeVar) and t in own:
                form.append(own[t])
                return t
            if id(t) not in holds:
                form.append("part")
                args.append(t)
                params.append(TypeVar(f"T{len(params)}"))
                return params[-1]
            head = t.func if isinstance(t, TypeCall) else None
            form.append((type(t).__name__, head, len(type_children(t))))
            kids: list[Type] = [] if head is None else [head]
            for k in type_children(t)[len(kids) :]:
                kids.append((yield general(k)))
            return rebuild_type(t, kids)

        parts = [trampoline(general(t)) for t in type_children(f)]
        data = self._by_form.get(tuple(form))
        if data is None:
            name = f"Polymorphic{len(self._by_form)}"
            while any(known.startswith(name) for known in self._names):
                name += "_"
            data = PolymorphicType(name, params, FuncType(tuple(parts[:-1]), parts[-1], f.type_params))
            self._by_form[tuple(form)] = self.by_name[name] = data
        return TypeCall(data.header, tuple(args))


def _renamed(f: FuncType) -> FuncType:
    """The type with other variables for its own."""
    own: dict[Type, TypeVar] = {p: TypeVar(p.name, p.kind) for p in f.type_params}
    *arg_types, ret_type = (rewrite_type(t, lambda x: own.get(x, x)) for t in type_children(f))
    return FuncType(tuple(arg_types), ret_type, tuple(own.values()))


def _holders(root: Type, variables: Collection[TypeVar]) -> set[int]:
    """The identities of the types in `root` that hold one of the variables."""
    holders: set[int] = set()
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if ready or not type_children(t):
            if t in variables if isinstance(t, TypeVar) else any(id(k) in holders for k in type_children(t)):
                holders.add(id(t))
        elif id(t) not in seen:
            seen.add(id(t))
            stack.append((t, True))
            stack += [(k, False) for k in type_children(t)]
    return holders
