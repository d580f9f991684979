"""Forms of Relay operators in ONNX: one class for each, or a row of a family, found by the operator's name.

::

    @form("nn.leaky_relu")
    @dataclass(frozen=True)
    class LeakyRelu(Form):
        '''`LeakyRelu`'''

        direct = True

        def emit(self, s):
            return s.node("LeakyRelu", s.inputs[0], alpha=s.attrs.alpha)

A form that writes other Relay in the place of a call is an `Expansion`; one that says why there is none, `Absent`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...ir import Expr
from ...passes.core.rule_table import RuleTable
from ...passes.legalization.rule import LegalizationSite
from .no_form import NoForm as NoForm

if TYPE_CHECKING:
    from .site import OnnxSite


@dataclass(frozen=True)
class Form:
    """Base of all forms. The docstring is the Markdown description of a call in ONNX.

    Class attributes:
        direct: True if ONNX has an operator of that meaning, though attributes or operands may have another shape there.
        differs: the inputs with another result in ONNX Runtime, and that result; empty if there are none.
    """

    direct: ClassVar[bool] = False
    differs: ClassVar[str] = ""

    @property
    def becomes(self) -> str:
        """The description of a call in ONNX, in Markdown."""
        return " ".join((inspect.getdoc(type(self)) or "").split())

    def emit(self, s: OnnxSite) -> Any:
        """Adds the nodes of a call, and returns its value: a `Value`, or a tuple of these. Raises NoForm."""
        raise NotImplementedError


@dataclass(frozen=True)
class Expansion(Form):
    """A form in Relay: `expand` writes other calls in the place of one, before there are any nodes."""

    def expand(self, s: LegalizationSite) -> Expr | None:
        """The expression in the place of a call; None if the call stays, and `emit` is asked. Raises NoForm."""
        raise NotImplementedError

    def emit(self, s: OnnxSite) -> Any:
        raise NoForm("it has none with these types")


@dataclass(frozen=True)
class Rewritten(Expansion):
    """A form in Relay, written as a function; `text` describes it."""

    text: str
    rewrite: Callable[[LegalizationSite], Expr | None]

    @property
    def becomes(self) -> str:
        return self.text

    def expand(self, s: LegalizationSite) -> Expr | None:
        return self.rewrite(s)


@dataclass(frozen=True)
class Emitted(Form):
    """A form written as a function; `text` describes it."""

    text: str
    write: Callable[[Any], Any]

    @property
    def becomes(self) -> str:
        return self.text

    def emit(self, s: OnnxSite) -> Any:
        return self.write(s)


@dataclass(frozen=True)
class Absent(Form):
    """No form, with the reason as a clause."""

    reason: str

    @property
    def becomes(self) -> str:
        return ""

    def emit(self, s: OnnxSite) -> Any:
        raise NoForm(self.reason)


_FORMS: RuleTable[str, Form] = RuleTable(f"{__package__}.operators", "the ONNX form of")

F = TypeVar("F", bound=type[Form])


def form(*operators: str) -> Callable[[F], F]:
    """Class decorator: files a form, made without arguments, under names of operators."""

    def file(cls: F) -> F:
        _FORMS.file(*operators)(cls())
        return cls

    return file


def row(form: Form, *operators: str) -> None:
    """Files a form that is a row of a family."""
    _FORMS.file(*operators)(form)


def decomposed(text: str, *operators: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: files a function of an `OnnxSite` that writes several nodes for a call; `text` is their Markdown description."""

    def file(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
        row(Emitted(text, write), *operators)
        return write

    return file


def expanded(text: str, *operators: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Decorator: files a function of a `LegalizationSite` that writes other Relay in the place of a call."""

    def file(rewrite: Callable[[Any], Any]) -> Callable[[Any], Any]:
        row(Rewritten(text, rewrite), *operators)
        return rewrite

    return file


def form_of(operator: str) -> Form | None:
    """The form of an operator, or None if nobody has said."""
    return _FORMS.find(operator)
