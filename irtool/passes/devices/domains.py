"""Device domains: what is known of the device of an expression, solved by unification.

A domain is that of a value (one device, perhaps not known yet) or that of a function (a domain for each parameter and one
for the result). Union-find without path compression, so that a unification that turns out to be impossible can be undone.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ...ir import FuncType, Type
from ...ir.meta import VirtualDevice
from ...trampoline import trampoline
from .configuration import UNKNOWN, Configuration, fill, join


class Domain:
    """A domain. `parts` are the domains of a function's parameters and, last, of its result; empty for any other value."""

    __slots__ = ("device", "parent", "parts", "size")

    def __init__(self, device: VirtualDevice = UNKNOWN, parts: Sequence[Domain] = ()) -> None:
        self.device = device
        self.parts = tuple(parts)
        self.parent: Domain | None = None
        self.size = 1


class Domains:
    """Domains that know which of them are equal."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._trail: list[tuple[Domain, Domain, VirtualDevice]] = []

    def make(self, type: Type | None, device: VirtualDevice = UNKNOWN) -> Domain:
        """A fresh domain for values of a type; `device` is that of the value, or of the function's result."""
        if not isinstance(type, FuncType):
            return Domain(device)
        return trampoline(self._of_function(type, device))

    def _of_function(self, type: FuncType, device: VirtualDevice) -> Generator[Any, Any, Domain]:
        parts = []
        for part, at in (*((t, UNKNOWN) for t in type.arg_types), (type.ret_type, device)):
            parts.append((yield self._of_function(part, at)) if isinstance(part, FuncType) else Domain(at))
        return Domain(parts=parts)

    def find(self, d: Domain) -> Domain:
        """What stands for all domains that are equal to `d`."""
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
            if a.parts and b.parts:
                if len(a.parts) != len(b.parts):
                    return False
                self._link(a, b, UNKNOWN)
                stack.extend(zip(a.parts, b.parts, strict=True))
            elif a.parts or b.parts:
                value, function = (b, a) if a.parts else (a, b)
                stack.extend((value, part) for part in function.parts)
            else:
                joined = join(a.device, b.device)
                if joined is None:
                    return False
                self._link(a, b, self.configuration.canonical(joined))
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
        """The domain of the value itself, or of what calling it gives in the end: a function is where its result is."""
        d = self.find(d)
        while d.parts:
            d = self.find(d.parts[-1])
        return d

    def device(self, d: Domain) -> VirtualDevice:
        """The device of a value, or of what calling it gives in the end."""
        return self.result(d).device

    def set_default(self, d: Domain, default: VirtualDevice) -> None:
        """Takes what is still open, of the value or of everything about the function, from `default`."""
        stack = [d]
        while stack:
            d = self.find(stack.pop())
            if d.parts:
                stack.extend(d.parts)
            else:
                d.device = self.configuration.canonical(fill(d.device, default))

    def set_defaults(self, d: Domain, default: VirtualDevice) -> None:
        """The same for the result first; the parameters of a function then default to the device of its result."""
        self.set_default(self.result(d), default)
        self.set_default(d, self.device(d))
