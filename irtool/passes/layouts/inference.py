"""Layout rules, and their registry.

A rule is asked twice about a call. First, with `new` None, which layouts the call's inputs and outputs have, as far as the
producers of the inputs know theirs (`old`). Then, after producers have changed theirs to `new`, which layouts the call wants
and yields now; it may change its attributes (an axis moves). A layout that is None is not known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...diagnostics import nearest
from ...ir import TensorType, TupleType, Type
from ...ops.base import Operator
from ...ops.layout import Layout
from ...plugin.mistakes import refuse
from ..core.rule_table import RuleTable

MaybeLayout = Layout | None


@dataclass(frozen=True)
class LayoutSite:
    """One question: the operator's attributes, the layouts of its inputs (tuples flattened), and their types.

    `new` is None when the call is asked about its layouts as they were.
    """

    attrs: Any
    old: tuple[MaybeLayout, ...]
    new: tuple[MaybeLayout, ...] | None
    types: tuple[Type, ...]

    def shape(self, index: int = 0) -> tuple[Any, ...]:
        """The shape of an input as it was."""
        t = self.types[index]
        if isinstance(t, TupleType):
            t = t.fields[0]
        assert isinstance(t, TensorType)
        return t.shape

    def axis(self, axis: int) -> int:
        """An axis of the first input counted from the front."""
        return axis % len(self.shape()) if axis < 0 else axis

    def is_split(self, axis: int) -> bool:
        """True if an axis of the first input is in two parts in its new layout."""
        return self.moved is not None and self.moved[1].factor(self.moved[0].axes[self.axis(axis)].letter) != -1

    def replaced(self, **changes: Any) -> Any:
        """The attributes with some changed."""
        return dataclasses.replace(self.attrs, **changes)

    @property
    def moved(self) -> tuple[Layout, Layout] | None:
        """The first input's old and new layouts, if both are known."""
        if self.new is None or self.old[0] is None or self.new[0] is None:
            return None
        return self.old[0], self.new[0]


@dataclass(frozen=True)
class Layouts:
    """An answer: layouts of inputs and outputs, and the attributes that go with them."""

    inputs: tuple[MaybeLayout, ...]
    outputs: tuple[MaybeLayout, ...]
    attrs: Any

    @property
    def known(self) -> bool:
        """True if every layout is known."""
        return None not in self.inputs and None not in self.outputs


LayoutRule = Callable[[LayoutSite], Layouts]
_RULES: RuleTable[str, LayoutRule] = RuleTable(__package__, "the layout rule of")
_SHARED: RuleTable[str, LayoutRule] = RuleTable(__package__, "the shared layout rule")
CHANNEL = Layout.parse("C")
"""The layout of scales, biases and statistics."""


def layout_rule(*operators: str) -> Callable[[LayoutRule], LayoutRule]:
    """Decorator: files a rule for operators."""
    return _RULES.file(*operators)


def shared_layout_rule(name: str) -> Callable[[LayoutRule], LayoutRule]:
    """Decorator: files a rule under a name of its own, which operators state (`Operator.layout_rule`) to follow it."""
    return _SHARED.file(name)


def find_own_rule(operator: type[Operator]) -> LayoutRule | None:
    """The rule that is filed under the operator's name, or None."""
    return _RULES.find(operator.name)


def find_rule(operator: type[Operator]) -> LayoutRule | None:
    """The rule of an operator: its own, else the shared one that it states or that its pattern promises; or None.

    Raises PluginError if an operator from outside states an unknown rule.
    """
    own = find_own_rule(operator)
    shared = operator.shared_layout_rule()
    if own is not None or not shared:
        return own
    result = _SHARED.find(shared)
    if result is None:
        names = sorted(_SHARED.keys())
        raise refuse(
            operator,
            f"there is no layout rule {shared}",
            help=nearest(shared, names) or f"there are {', '.join(names)}",
        )
    return result


def unknown(site: LayoutSite, outputs: int = 1) -> Layouts:
    """The answer of a rule that cannot say."""
    return Layouts((None,) * len(site.old), (None,) * outputs, site.attrs)


def first_known(layouts: Sequence[MaybeLayout]) -> MaybeLayout:
    """The first layout that is known, or None."""
    return next((x for x in layouts if x is not None), None)
