"""A lowered function as a value of the interpreter: it is called with tensors, in tuples or not, and gives tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...ir import FuncType, TupleType, Type
from ...tir.stmt import PrimFunc


class NestValue:
    """A loop nest, and the type by which its results are tuples."""

    __slots__ = ("_nest", "function", "name")

    def __init__(self, function: PrimFunc, name: str) -> None:
        self.function = function
        self.name = name
        self._nest: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """The results of a call with these arguments."""
        from .run import Nest

        if self._nest is None:
            self._nest = Nest(self.function)
        results = self._nest.run(list(_leaves(arguments)))
        known = self.function.checked_type
        if isinstance(known, FuncType):
            return _grouped(known.ret_type, iter(results))
        return results[0] if len(results) == 1 else tuple(results)

    def __repr__(self) -> str:
        return f"<loop nest {self.name}>"


def _leaves(values: Any) -> Iterator[Any]:
    """The tensors in tuples."""
    stack = [values]
    while stack:
        x = stack.pop()
        if isinstance(x, tuple | list):
            stack.extend(reversed(x))
        else:
            yield x


def _grouped(root: Type, results: Iterator[Any]) -> Any:
    """The results in tuples as in the type."""
    done: list[Any] = []
    stack: list[tuple[Type, bool]] = [(root, False)]
    while stack:
        t, ready = stack.pop()
        if not isinstance(t, TupleType):
            done.append(next(results))
        elif ready:
            first = len(done) - len(t.fields)
            done[first:] = [tuple(done[first:])]
        else:
            stack.append((t, True))
            stack.extend((f, False) for f in reversed(t.fields))
    return done[0]
