"""What grows faster than its input, and why: passes over shapes of `benchmarks/shapes.py`."""

from __future__ import annotations

_LEAVES = "TVM's gradients are made tensor by tensor: what is shared in a tuple is so many tensors"
_TENSORS = "the storage plan, as TVM's does, lists the tensors of each tuple, those of tuples inside it among them"
_CALLED = "TVM evaluates each function with the bodies of all that it calls, directly or not, in the place of the calls"
_FIELDS = "the gradient of a field is a tuple with zeros for all others"

LARGER: dict[tuple[str, str], str] = {
    ("functions", "PartialEvaluate"): _CALLED,
    ("untyped_functions", "PartialEvaluate"): _CALLED,
    ("let_functions", "PartialEvaluate"): _CALLED,
    ("mutual", "PartialEvaluate"): _CALLED,
    ("mutual_values", "PartialEvaluate"): _CALLED,
    ("wide_tuple", "FirstOrderGradient"): _FIELDS,
    ("split_parts", "FirstOrderGradient"): _FIELDS,
}
"""By shape and stage: results larger than the input, because TVM's are. They are measured by the size of the result."""

STEEPER: dict[tuple[str, str], str] = {
    (
        "closures",
        "PartialEvaluate",
    ): "TVM evaluates a function for its value and for its code, and so each one inside it: 2^n bodies come out",
    ("let_functions", "build"): "local functions are partially evaluated, see above",
    ("shared_tuples", "build"): "C has a buffer for each tensor of a result, and refuses more than a million",
    ("shared_tuples", "FirstOrderGradient"): _LEAVES,
    ("shared_tuples", "LazyGradientInit"): _LEAVES,
    ("deep_tuples", "build"): _TENSORS,
}
"""By shape and stage, `*` for any: what is left out, and why that is so."""
