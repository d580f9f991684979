"""Facts of an operator that passes use, from its class and from the rules filed under its name, and the missing ones."""

from __future__ import annotations

from ..ops import Operator
from ..ops.cases import cases_of

_MEANINGS = (("relate", "a type rule"), ("evaluate", "a numpy reference"), ("compute", "a tensor expression"))
_LACKING = {"gradient": "a gradient", "layout": "a layout rule", "precision": "a precision class"}
RULE = "a rule of its own"


def facts_of(cls: type[Operator]) -> dict[str, str]:
    """The treatment of the operator by each of the passes; empty if a pass has no rule for it.

    `gradient`: "none" where it would mean nothing, with the reason where results are real; `layout`: the shared rule that it follows, "none" where it states that no layout gets through; `precision`: `always`, `follow` or `never`; `quantized`: its
    integer form; `legalized`: the maps in which it has a rule; `fast form`: the operator that FastMath puts in its place.
    "a rule of its own" where a rule is filed under its name.
    """
    from ..passes.fake_quantization.affine import find_rule as integer_form
    from ..passes.gradients.rule import find_rule as gradient_rule
    from ..passes.layouts.inference import find_own_rule as own_layout_rule
    from ..passes.legalization.rule import MAPS
    from ..passes.legalization.rule import find_rule as legalization

    no_layout = "none" if cls.layout_rule == "" else ""
    quantized = RULE if integer_form(cls) is not None else ""
    return {
        "gradient": RULE if gradient_rule(cls.name) is not None else _no_gradient(cls),
        "layout": RULE if own_layout_rule(cls) is not None else cls.shared_layout_rule() or no_layout,
        "precision": cls.precision,
        "quantized": "the operator itself" if cls.integer_form == "same" else quantized,
        "legalized": ", ".join(m for m in MAPS if legalization(m, cls.name) is not None),
        "fast form": cls.fast_form,
    }


def _no_gradient(cls: type[Operator]) -> str:
    """The words for an operator without a rule: `none` and the reason, or nothing where nobody has said."""
    if cls.no_gradient:
        return f"none: {cls.no_gradient}"
    return "" if cls.differentiable else "none"


def lacks(cls: type[Operator]) -> list[str]:
    """Missing facts of an operator, in words: its own meanings and cases first, then those that passes use.

    An operator that stands for no kernel (an annotation, an allocation) needs neither a tensor expression nor what passes
    over computations ask for; one of a vendor has no meaning but its type.
    """
    needed = [m for m in _MEANINGS if not (cls.noncomputational and m[0] == "compute")]
    own = [what for method, what in needed if getattr(cls, method) is getattr(Operator, method)]
    if cls.vendor:
        return [what for what in own if what == "a type rule"]
    if not cases_of(cls):
        own.append("a case")
    facts = {} if cls.noncomputational else facts_of(cls)
    return [*own, *(what for fact, what in _LACKING.items() if facts and not facts[fact])]
