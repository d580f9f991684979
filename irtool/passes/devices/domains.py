"""Device domains: partial knowledge of the device of an expression, solved by unification.

A domain is that of a value (one device, perhaps not known yet) or that of a function (a domain for each parameter and one
for the result). Union-find without path compression, so that a unification that turns out to be impossible can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import FuncType, Type
from ...ir.meta import VirtualDevice
from .configuration import UNKNOWN, Configuration, fill, join


class Domain:
    """A domain.

    `parts` are the domains of a function's parameters and, last, of its result; empty for any other value. Those of a
    function of which only the type is known are made when they are asked for, and `device` is until then that of what
    calling it gives in the end: most of them are found to be those of another function first, and types nest deeply.
    """

    __slots__ = ("_end", "defaults", "device", "parent", "parts", "size", "type")

    def __init__(
        self, device: VirtualDevice = UNKNOWN, parts: Sequence[Domain] = (), type: FuncType | None = None
    ) -> None:
        self.device = device
        self.parts = tuple(parts)
        self.type = type
        self.parent: Domain | None = None
        self.size = 1
        self.defaults: list[VirtualDevice] = []
        """What everything open in a function has been taken from."""
        self._end: Domain | None = None

    @property
    def is_function(self) -> bool:
        return bool(self.parts) or self.type is not None


class Domains:
    """Domains that know which of them are equal."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._trail: list[tuple[Domain, Domain, VirtualDevice]] = []

    def make(self, type: Type | None, device: VirtualDevice = UNKNOWN) -> Domain:
        """A fresh domain for values of a type; `device` is that of the value, or of the function's result."""
        return Domain(device, type=type if isinstance(type, FuncType) else None)

    def parts(self, d: Domain) -> tuple[Domain, ...]:
        """The domains of a function's parameters and, last, of its result; empty for any other value."""
        d = self.find(d)
        if d.type is not None:
            open_parts = [self.make(t) for t in d.type.arg_types]
            d.parts = (*open_parts, self.make(d.type.ret_type, d.device))
            d.type, d.device = None, UNKNOWN
        return d.parts

    def find(self, d: Domain) -> Domain:
        """The representative of all domains equal to `d`."""
        while d.parent is not None:
            d = d.parent
        return d

    def unify(self, a: Domain, b: Domain) -> bool:
        """Makes two domains equal; False if they contradict each other (some parts may be equal by then).

        The domain of a function and that of another value are equal if everything of the function is on that device: so
        it is for functions in tuples, references and data.
        """
        stack = [(a, b)]
        while stack:
            a, b = stack.pop()
            a, b = self.find(a), self.find(b)
            if a is b:
                continue
            if a.is_function and b.is_function:
                if not self._unify_functions(a, b, stack):
                    return False
            elif a.is_function or b.is_function:
                value, function = (b, a) if a.is_function else (a, b)
                stack.extend((value, part) for part in self.parts(function))
            else:
                joined = join(a.device, b.device)
                if joined is None:
                    return False
                self._link(a, b, self.configuration.canonical(joined))
        return True

    def _unify_functions(self, a: Domain, b: Domain, stack: list[tuple[Domain, Domain]]) -> bool:
        """Makes the domains of two functions equal, but for those of their parts, which go onto the stack."""
        for one, other in ((a, b), (b, a)):
            if one.type is not None and one.device == UNKNOWN and _arity(one) == _arity(other):
                # Nothing is known of it but its type: it is the other one.
                self._trail.append((one, other, other.device))
                one.parent = other
                other.size += one.size
                return True
        left, right = self.parts(a), self.parts(b)
        if len(left) != len(right):
            return False
        self._link(a, b, UNKNOWN)
        stack.extend(zip(left, right, strict=True))
        return True

    def _link(self, a: Domain, b: Domain, device: VirtualDevice) -> None:
        if a.size < b.size:
            a, b = b, a
        self._trail.append((b, a, a.device))
        b.parent = a
        a.size += b.size
        a.device = device

    def unify_if_possible(self, a: Domain, b: Domain) -> bool:
        """The same; where it is impossible, nothing has changed."""
        mark = len(self._trail)
        if self.unify(a, b):
            return True
        while len(self._trail) > mark:
            child, root, device = self._trail.pop()
            child.parent = None
            root.size -= child.size
            root.device = device
        return False

    def result(self, d: Domain) -> Domain:
        """The domain of the value itself, or of the final result of calling it: a function is on the device of its result."""
        d = self._end_of(d)
        while parts := self.parts(d):
            d = self._end_of(parts[-1])
        return d

    def _end_of(self, d: Domain) -> Domain:
        """The final result of calling a function, as far as parts have been made."""
        passed: list[Domain] = []
        d = self.find(d)
        while d.parts:
            passed.append(d)
            d = self.find(d._end or d.parts[-1])
        for function in passed:
            function._end = d
        return d

    def device(self, d: Domain) -> VirtualDevice:
        """The device of a value, or of the final result of calling it."""
        return self._end_of(d).device

    def set_default(self, d: Domain, default: VirtualDevice) -> None:
        """Takes everything open, of the value or of all parts of the function, from `default`."""
        stack = [d]
        while stack:
            d = self.find(stack.pop())
            parts = self.parts(d)
            if not parts:
                d.device = self.configuration.canonical(fill(d.device, default))
            elif default not in d.defaults:
                d.defaults.append(default)
                stack.extend(parts)

    def set_defaults(self, d: Domain, default: VirtualDevice) -> None:
        """The same for the result first; the parameters of a function then default to the device of its result."""
        self.set_default(self.result(d), default)
        self.set_default(d, self.device(d))


def _arity(d: Domain) -> int:
    return len(d.parts) - 1 if d.type is None else len(d.type.arg_types)
