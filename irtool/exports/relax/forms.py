"""Forms of Relay operators in Relax: one class for each, or one row of a family, found by the operator's name.

    @form("nn.relu", "R.nn.relu")
    class Relu(Form):
        '''…'''

        def write(self, site):
            return invocation("R.nn.relu", site.args[0])

An operator without a form, and a call that its form refuses (`NoForm`), becomes a loop nest in TIR.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...ir import Call, Constant, Expr, TensorType, Tuple, TupleType, Type
from ...plugin import Plugin, Registry
from .literals import Text

if TYPE_CHECKING:
    import numpy as np


class NoForm(Exception):
    """This call has no form of its own; the message is a clause that says why."""


@dataclass(frozen=True)
class RelaxSite:
    """A call of an operator that is to be written.

    Attributes:
        call: the call. Its attributes are `attrs`.
        args: the text of each argument; that of a tuple is a tuple.
        values: the arguments as expressions, variables that stand for constants and tuples replaced by these.
    """

    call: Call
    args: tuple[Text, ...]
    values: tuple[Expr, ...]

    @property
    def attrs(self) -> Any:
        """The attributes of the call."""
        return self.call.attrs

    @property
    def out(self) -> TensorType:
        """The type of the result. Raises NoForm for a tuple."""
        return _tensor(self.call.checked_type, "its result")

    def type(self, index: int) -> TensorType:
        """The type of an argument. Raises NoForm if it is no tensor."""
        return _tensor(self.call.args[index].checked_type, f"argument {index}")

    def rank(self, index: int = 0) -> int:
        """The number of axes of an argument."""
        return len(self.type(index).shape)

    def dims(self, t: TensorType) -> list[int]:
        """A shape as numbers. Raises NoForm if it is not static."""
        if not t.is_static:
            raise NoForm("a shape is not static")
        return list(t.static_shape)

    def fields(self, index: int = 0) -> list[TensorType]:
        """The types of the fields of a tuple."""
        t = self.call.args[index].checked_type
        if not isinstance(t, TupleType):
            raise NoForm(f"argument {index} is no tuple")
        return [_tensor(f, "a field") for f in t.fields]

    def constant(self, index: int) -> np.ndarray:
        """The value of an argument. Raises NoForm if it is not constant."""
        value = self.values[index]
        if not isinstance(value, Constant) or not hasattr(value.data, "shape"):
            raise NoForm(f"argument {index} is not constant")
        return value.data  # type: ignore[return-value]  # it is an array

    def number(self, index: int) -> float | int:
        """The value of a constant scalar."""
        data = self.constant(index)
        if data.size != 1:
            raise NoForm(f"argument {index} has several elements")
        return data.reshape(()).item()

    def require(self, holds: bool, reason: str) -> None:
        """Raises NoForm with the reason unless it holds."""
        if not holds:
            raise NoForm(reason)

    def is_float(self, index: int = 0) -> bool:
        """True for an argument of floats."""
        return self.type(index).dtype.startswith(("float", "bfloat"))

    def axis(self, axis: int, index: int = 0) -> int:
        """An axis of an argument, counted from the first."""
        return int(axis) % max(self.rank(index), 1)


def _tensor(t: Type | None, what: str) -> TensorType:
    if not isinstance(t, TensorType):
        raise NoForm(f"{what} is no tensor")
    return t


class Form(Plugin):
    """Base of all forms.

    Class attributes:
        relax: what the operator becomes, for the page: `R.nn.conv2d`.
        is_single: True if that is one operator of Relax; False if several are put together.
    """

    _kind = "Relax form"
    relax: ClassVar[str] = ""
    is_single: ClassVar[bool] = True

    def write(self, site: RelaxSite) -> Text:
        """The expression. Raises NoForm for a call that it does not hold for."""
        raise NotImplementedError


forms: Registry[type[Form]] = Registry("Relax form", "irtool.exports.relax.operators")
"""The forms by the names of Relay's operators."""

F = TypeVar("F", bound=type[Form])


def form(name: str, relax: str, *, single: bool = True) -> Callable[[F], F]:
    """Class decorator: files the form of the operator `name`."""

    def register(cls: F) -> F:
        cls.relax = relax
        cls.is_single = single
        forms.register(name)(cls)
        return cls

    return register


def row(base: type[Form], name: str, relax: str, *, single: bool = True, **members: Any) -> None:
    """A row of a family: the form of `name`, derived from `base` with these class attributes."""
    title = "".join(part.capitalize() for part in name.replace(".", "_").split("_"))
    cls = type(title, (base,), {"__module__": base.__module__, "__doc__": base.__doc__, **members})
    form(name, relax, single=single)(cls)


__all__ = ["Form", "NoForm", "RelaxSite", "Text", "Tuple", "form", "forms", "row"]
