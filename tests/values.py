"""Values of data types for tests: made from Python's tuples and lists, and shown as such."""

from __future__ import annotations

from typing import Any

import numpy as np

from irtool.interp.values import Data, Reference
from irtool.ir import Constructor, Module, TensorType, TupleType, Type, TypeCall
from irtool.ir.types import rewrite_type


class Maker:
    """Makes values of a module's types: `("Word", 1)` is a constructor with its arguments, `[1, 2]` a list."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.constructors: dict[str, Constructor] = {
            c.name: c for d in module.type_definitions.values() for c in d.constructors
        }

    def data(self, name: str, *arguments: Any) -> Data:
        return Data(self.constructors[name], arguments)

    def __call__(self, value: Any, t: Type | None) -> Any:
        if isinstance(t, TensorType):
            return np.asarray(value, t.dtype)
        if isinstance(t, TupleType):
            return tuple(self(x, f) for x, f in zip(value, t.fields, strict=True))
        if isinstance(value, list):
            result = self.data("Nil")
            assert isinstance(t, TypeCall)
            for x in reversed(value):
                result = self.data("Cons", self(x, t.args[0]), result)
            return result
        name, *arguments = value
        constructor = self.constructors[name]
        definition = self.module.type_definitions[constructor.belong_to.name]
        bound = dict(zip(definition.type_vars, t.args if isinstance(t, TypeCall) else (), strict=True))
        types = [rewrite_type(i, lambda x: bound.get(x, x)) for i in constructor.inputs]
        return self.data(name, *map(self, arguments, types))


def shown(value: Any) -> list[Any]:
    """What is in a value, in order: names of constructors, lengths of tuples, and tensors as lists with their dtypes."""
    result: list[Any] = []
    stack = [value]
    while stack:
        v = stack.pop()
        if isinstance(v, Reference):
            result.append("ref")
            stack.append(v.value)
        elif isinstance(v, tuple):
            result.append(v.constructor.name if isinstance(v, Data) else len(v))
            stack.extend(reversed(v))
        else:
            result += [str(np.asarray(v).dtype), np.shape(v), np.asarray(v).tolist()]
    return result
