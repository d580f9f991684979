"""What passes know of an operator beside its own class: and what an operator still lacks.

Rules are filed by operator in the rooms of the passes that follow them; this asks each of them.
"""

from __future__ import annotations

from ..ops import Operator

_MEANINGS = (("relate", "a type rule"), ("evaluate", "a numpy reference"), ("compute", "a tensor expression"))
_LACKING = {
    "gradient": "a gradient",
    "layout": "a layout rule",
    "precision": "a class for mixed precision",
}


def facts_of(cls: type[Operator]) -> dict[str, str]:
    """What each of the passes does with the operator; empty where it knows nothing of it.

    `gradient`: "has a rule"; `layout`: "has a rule"; `precision`: `always`, `follow` or `never`; `quantized`: "has an integer
    form"; `legalized`: the maps in which it has a rule.
    """
    from .fake_quantization.affine import find_rule as integer_form
    from .gradients.rule import find_rule as gradient_rule
    from .layouts.inference import find_rule as layout_rule
    from .legalization.rule import MAPS
    from .legalization.rule import find_rule as legalization

    name = cls.name
    return {
        "gradient": "has a rule" if gradient_rule(name) is not None else "",
        "layout": "has a rule" if layout_rule(cls) is not None else "",
        "precision": cls.precision,
        "quantized": "has an integer form" if integer_form(cls) is not None else "",
        "legalized": ", ".join(m for m in MAPS if legalization(m, name) is not None),
    }


def lacks(cls: type[Operator]) -> list[str]:
    """What an operator might still be given, in words: its own meanings first, then what passes do not know of it."""
    own = [what for method, what in _MEANINGS if getattr(cls, method) is getattr(Operator, method)]
    facts = facts_of(cls)
    return [*own, *(what for fact, what in _LACKING.items() if not facts[fact])]
