"""What grows faster than its input, and why: passes over shapes of `benchmarks/shapes.py` that `test_growth` leaves out."""

from __future__ import annotations

_TYPES = "the type of each function holds those of all functions inside it, and types are compared as a whole"
_HASHES = "each function inside another has a hash of its own, over all that is inside it"
_LEAVES = "TVM's gradients are made tensor by tensor: what is shared in a tuple is so many tensors"
_SCOPES = "what a function binds is looked for in it anew for each function around it"
_WIDE = "the tensors of a tuple are asked for at each field that is taken out"

STEEPER: dict[tuple[str, str], str] = {
    ("functions_in_functions", "default<O3>"): _HASHES,
    ("functions_in_functions", "PartialEvaluate"): _SCOPES,
    ("functions_in_functions", "PlanDevices"): _TYPES,
    ("closures", "build"): _SCOPES,
    (
        "closures",
        "PartialEvaluate",
    ): "a function is evaluated for its value and for its code, and so is each one inside it",
    ("let_functions", "build"): "local functions are partially evaluated, see below",
    (
        "let_functions",
        "PartialEvaluate",
    ): "a function that is called is evaluated with all that it calls, at each function that calls it",
    **dict.fromkeys(
        [(f"{kind}functions", "PartialEvaluate") for kind in ("", "untyped_")],
        "each function is evaluated anew with all that it calls",
    ),
    ("shared_tuples", "build"): "C has a buffer for each tensor of a result, and refuses more than a million",
    ("shared_tuples", "FirstOrderGradient"): _LEAVES,
    ("shared_tuples", "LazyGradientInit"): _LEAVES,
    ("deep_tuples", "build"): _WIDE,
    ("wide_tuple", "build"): _WIDE,
    ("wide_tuple", "AnnotateTarget"): _WIDE,
    ("wide_tuple", "FirstOrderGradient"): "the gradient of a field is a tuple with zeros for all others",
}
"""By shape and stage, `*` for any: what grows faster than its input, and why that is so."""
