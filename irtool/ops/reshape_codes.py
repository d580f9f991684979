"""Resolution of the codes of `reshape` in a run, as `infer_new_shape` resolves codes that are known before."""

from __future__ import annotations

from typing import Any

from .. import te
from .indexing.meeting import loop_nest

_MOST_PRODUCT = 1 << 31
"""More elements than a tensor has: products of codes stop here, so that they do not overflow."""


class Resolution:
    """Writes the extents for codes and a shape, vectors of int64, to `out`; -1 for each of them if the codes are wrong.

    Args:
        ib: the builder of the program.
        allowzero: a code 0 is an extent, and not that of the axis.
    """

    def __init__(self, ib: Any, codes: Any, shape: Any, out: Any, allowzero: bool) -> None:
        self.ib = ib
        self.codes = codes
        self.shape = shape
        self.out = out
        self.allowzero = allowzero
        self.count = codes.shape[0]
        self.rank = shape.shape[0]
        self.axis = ib.local("int64", 0, "axis")
        self.place = ib.local("int64", 0, "place")
        self.is_right = ib.local("int64", 1, "is_right")
        self.operands = ib.local("int64", 0, "operands")
        """How many codes behind a -4 are still its operands."""
        self.rest_place = ib.local("int64", -1, "rest_place")
        self.rest = ib.local("int64", 1, "rest")
        """The product of the extents that no code copies."""
        self.numbers = ib.local("int64", 1, "numbers")
        """The product of the codes that are extents."""

    def write(self) -> None:
        """Writes the program."""
        ib = self.ib
        with ib.for_(self.count) as i:
            with ib.if_(self.operands.get() > 0):
                self.operands.set(self.operands.get() - 1)
            with ib.else_():
                self._take(i, ib.let(self.codes[i]))
        with ib.if_(self.rest_place.get() >= 0):
            self._put_rest()
        with ib.if_(te.logical_or(te.equal(self.is_right.get(), 0), te.not_equal(self.place.get(), self.count))):
            loop_nest(ib, (self.count,), lambda i: ib.store(self.out, i, te.const(-1, "int64")))

    def _take(self, i: Any, code: Any) -> None:
        """The statements for one code, at the place `i`."""
        ib = self.ib
        is_extent = code >= 0 if self.allowzero else code > 0
        with ib.if_(is_extent):
            self._put(code)
            product = self.numbers.get() * te.minimum(code, _MOST_PRODUCT)
            self.numbers.set(te.minimum(product, _MOST_PRODUCT))
            self._leave_out()
        with ib.if_(te.logical_and(te.equal(code, 0), te.logical_not(is_extent))):
            self._put(self._copied("own"))
        with ib.if_(te.equal(code, -1)):
            with ib.if_(self.rest_place.get() >= 0):
                self.is_right.set(0)
            self.rest_place.set(self.place.get())
            self._put(te.const(1, "int64"))
            self._leave_out()
        with ib.if_(te.equal(code, -2)), ib.while_(self.axis.get() < self.rank):
            self._put(self._copied("remaining"))
        with ib.if_(te.equal(code, -3)):
            first = self._copied("first")
            self._put(first * self._copied("second"))
        with ib.if_(te.equal(code, -4)):
            self._split(i)
        with ib.if_(code < -4):
            self.is_right.set(0)

    def _split(self, i: Any) -> None:
        """The statements for a -4: the axis becomes two, of which the operands say one at least."""
        ib = self.ib
        whole = self._copied("whole")
        with ib.if_(i < self.count - 2):
            left, right = ib.let(self.codes[i + 1]), ib.let(self.codes[i + 2])
            with ib.if_(te.logical_and(te.equal(left, -1), te.equal(right, -1))):
                self.is_right.set(0)
            for one, other in ((left, right), (right, left)):
                with ib.if_(te.equal(one, -1)):
                    self._put(self._quotient(whole, other))
                with ib.else_():
                    self._put(one)
        with ib.else_():
            self.is_right.set(0)
        self.operands.set(2)

    def _put_rest(self) -> None:
        """The statements that write the extent of a -1."""
        ib = self.ib
        with ib.while_(self.axis.get() < self.rank):
            self._leave_out()
        extent = self._quotient(self.rest.get(), self.numbers.get())
        with ib.if_(self.rest_place.get() < self.count):
            ib.store(self.out, (self.rest_place.get(),), extent)

    def _put(self, extent: Any) -> None:
        """Writes the next extent."""
        with self.ib.if_(self.place.get() < self.count):
            self.ib.store(self.out, (self.place.get(),), extent)
        self.place.set(self.place.get() + 1)

    def _copied(self, name: str) -> Any:
        """The extent of the axis, and the axis behind it from then on."""
        extent = self.ib.local("int64", 0, name)
        with self.ib.if_(self.axis.get() < self.rank):
            extent.set(self.shape[self.axis.get()])
        with self.ib.else_():
            self.is_right.set(0)
        self.axis.set(self.axis.get() + 1)
        return extent.get()

    def _leave_out(self) -> None:
        """The axis is one of those that a -1 stands for."""
        with self.ib.if_(self.axis.get() < self.rank):
            self.rest.set(self.rest.get() * self.shape[self.axis.get()])
        self.axis.set(self.axis.get() + 1)

    def _quotient(self, a: Any, b: Any) -> Any:
        """`a / b` rounded down; an error for 0."""
        with self.ib.if_(te.equal(b, 0)):
            self.is_right.set(0)
        return self.ib.let(te.floordiv(a, b))
