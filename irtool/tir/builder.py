"""Writing a loop nest as if it were a program.

ib = Builder()
with ib.for_(n, name="i") as i:
    best = ib.local("int32", 0)                       # a mutable scalar: best.get(), best.set(v)
    with ib.for_(m) as j:
        with ib.if_(x[i, j] > x[i, best.get()]):
            best.set(j)
        with ib.else_():
            ...
    ib.store(out, (i,), best.get())
nest = ib.finish()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .expr import INDEX, Expr, Operand, Var, as_bool, as_expr, cast, const, minimum
from .stmt import SERIAL, Allocate, Buffer, For, If, Let, Scope, Stmt, Store, While, seq


class Local:
    """A mutable scalar on the stack. Arithmetic needs its value at one moment: `x.get()`, or `x()`."""

    def __init__(self, builder: Builder, buffer: Buffer) -> None:
        self._builder = builder
        self.buffer = buffer
        self.dtype = buffer.dtype

    def get(self) -> Expr:
        """The value where the expression is evaluated (not where it is written)."""
        return self.buffer[()]

    __call__ = get

    def set(self, value: Operand) -> None:
        """Assigns."""
        self._builder.store(self.buffer, (), value)


class Builder:
    """Collects statements; see the module's docstring."""

    def __init__(self) -> None:
        self._blocks: list[list[Any]] = [[]]
        self._names = 0

    def _fresh(self, stem: str) -> str:
        self._names += 1
        return f"{stem}_{self._names}"

    @contextmanager
    def for_(self, begin: Operand, end: Operand | None = None, name: str = "i", kind: str = SERIAL) -> Iterator[Expr]:
        """A loop over 0 … begin - 1, or begin … end - 1; gives the loop's variable as an expression."""
        first: Expr
        if end is None:
            first, extent = const(0), as_expr(begin)
        else:
            first = as_expr(begin)
            extent = as_expr(end) - first
        dtype = "int64" if "int64" in (extent.dtype, first.dtype) else INDEX
        var = Var(self._fresh(name), dtype)
        self._blocks.append([])
        yield var + first
        self._blocks[-2].append(For(var, extent, self._close(), kind))

    @contextmanager
    def if_(self, cond: Operand) -> Iterator[None]:
        """A branch: statements of the block run if `cond` holds. An `else_` may come directly after."""
        self._blocks.append([])
        yield
        self._blocks[-2].append(If(as_bool(cond), self._close()))

    @contextmanager
    def else_(self) -> Iterator[None]:
        """The other branch of the `if_` just before."""
        block = self._blocks[-1]
        if not block or not isinstance(block[-1], If) or block[-1].other is not None:
            raise TypeError("else_ must come directly after if_")
        before = block.pop()
        self._blocks.append([])
        yield
        block.append(If(before.cond, before.then, self._close()))

    @contextmanager
    def while_(self, cond: Operand) -> Iterator[None]:
        """A loop as long as `cond` holds. `cond` reads locals and buffers anew each time."""
        self._blocks.append([])
        yield
        self._blocks[-2].append(While(as_bool(cond), self._close()))

    def store(self, target: Any, indices: Any, value: Operand) -> None:
        """`target[indices] = value`, converted to the buffer's dtype."""
        buffer = target.buffer if isinstance(target, Local) else target
        place = buffer[indices]
        self._blocks[-1].append(Store(buffer, place.indices, cast(as_expr(value, buffer.dtype), buffer.dtype)))

    def let(self, value: Operand, name: str = "t") -> Expr:
        """A name for the value as it is now."""
        expr = as_expr(value)
        var = Var(self._fresh(name), expr.dtype)
        self._blocks[-1].append((var, expr))
        return var

    def local(self, dtype: str, value: Operand | None = None, name: str = "v") -> Local:
        """A mutable scalar, for the rest of the block."""
        buffer = Buffer(self._fresh(name), (), dtype, Scope.LOCAL)
        self._blocks[-1].append(buffer)
        result = Local(self, buffer)
        if value is not None:
            result.set(value)
        return result

    def allocate(self, shape: Sequence[int], dtype: str, name: str = "work", scope: Scope = Scope.GLOBAL) -> Buffer:
        """A buffer for the rest of the block: in the planned workspace, or (`scope=Scope.LOCAL`, small) on the stack."""
        buffer = Buffer(self._fresh(name), shape, dtype, scope)
        self._blocks[-1].append(buffer)
        return buffer

    def minimum(self, a: Operand, b: Operand) -> Expr:
        """The smaller of two."""
        return minimum(a, b)

    def emit(self, stmt: Stmt) -> None:
        """Adds a statement made elsewhere."""
        self._blocks[-1].append(stmt)

    def _close(self) -> Stmt:
        """The innermost block as one statement; the body of `Let`s and allocations is the rest of the block."""
        done: list[Stmt] = []
        for entry in reversed(self._blocks.pop()):
            if isinstance(entry, tuple):
                done = [Let(entry[0], entry[1], seq(done[::-1]))]
            elif isinstance(entry, Buffer):
                done = [Allocate(entry, seq(done[::-1]))]
            else:
                done.append(entry)
        return seq(done[::-1])

    def finish(self) -> Stmt:
        """The whole nest."""
        assert len(self._blocks) == 1, "a with-block is still open"
        return self._close()
