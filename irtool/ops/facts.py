"""Facts of an operator for passes without a rule for it: class attributes.

A fact is a class attribute with a default that is right for operators of which nobody has thought. A class inherits the facts
of its family, and states those in which it differs::

    class Swish(Operator):
        precision = "follow"
        fast_form = "my.fast_swish"

What takes code (a gradient, the layouts of one operator) is a rule: a function that a decorator of its pass files under the
operator's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from .pattern import Pattern

PRECISIONS = ("always", "follow", "never")
INTEGER_FORMS = ("same",)


class Facts:
    """The facts of an operator.

    Class attributes:
        reshapes: True if the result holds the input's elements in the same order (reshape, squeeze, expand_dims …).
        noncomputational: True if a call stands for no kernel of its own (annotations, memory, quantized operators that
            are rewritten before code is made); such a call is neither fused nor folded.
        folds: False if a call stays even where its arguments are constants (what asks for the shape of a static tensor is
            folded by its type).
        shape_from_data: True if the result's shape depends on the values of an argument.
        on_host: names of the arguments, or "result", that are kept on the host whatever device the call is on (shapes,
            sizes); everything else of a call is on one device.
        one_shape: names of the arguments, and "result", that surely have one shape.
        one_dtype: names of the arguments, and "result", that surely hold one dtype (a tuple: in all its fields).
        dtype_attribute: name of the attribute that says the result's dtype, where it is not void.
        vector_axis: name of the attribute that says along which axis of the first argument the second, a vector, runs;
            the operator is elementwise but for that. Empty: there is no such vector.
        differentiable: False if a gradient would mean nothing: the results are integers, truth values, shapes or random numbers.
        no_gradient: why there is no gradient of an operator whose results are real, in a few words.
        precision: what ToMixedPrecision does with a call: `always` converts its inputs to 16 bits, since that gains much;
            `follow` computes in 16 bits if the inputs are there already; `never` computes in float32, where results leave the
            range of 16 bits or sum up many terms. Empty: nobody has said; the pass follows, and warns.
        narrowed_attribute: name of the attribute that names the dtype of the result, or of what is added up, and is
            narrowed with the inputs.
        sums_in: name of the attribute that says in which dtype products are summed up, of an operator that no class of precision
            is stated for: passes that round the operands of products take it for one of these.
        layout_rule: how the result's layout follows from those of the inputs: the name of a rule that operators share
            (`elementwise`, `broadcast`, `convolution`, `pooling`). None: what the pattern promises. Empty: no layout gets
            through.
        kernel_layouts: of a convolution, the kernel layout that goes with each data layout by default: what ConvertLayout
            takes for `default`. Empty: it cannot be converted in this way.
        depthwise_kernel_layouts: the same where each channel has a kernel of its own, as far as that differs.
        integer_form: what a call becomes in a quantized region: `same`, the operator itself on integers, because it moves or
            picks elements. Empty: what a rule says, if there is one.
        homogeneous: True if the operator is elementwise and scaling an element by a number that is not negative scales the
            result's (relu): scales may move through.
        fast_form: name of an operator with the same first argument that FastMath puts in its place.
        named_types: names of types that the module has to define, since those of arguments or results are made of them.
    """

    pattern: ClassVar[Pattern | None] = None
    reshapes: ClassVar[bool] = False
    noncomputational: ClassVar[bool] = False
    folds: ClassVar[bool] = True
    shape_from_data: ClassVar[bool] = False
    on_host: ClassVar[tuple[str, ...]] = ()
    one_shape: ClassVar[tuple[str, ...]] = ()
    one_dtype: ClassVar[tuple[str, ...]] = ()
    dtype_attribute: ClassVar[str] = ""
    vector_axis: ClassVar[str] = ""
    differentiable: ClassVar[bool] = True
    no_gradient: ClassVar[str] = ""
    precision: ClassVar[str] = ""
    narrowed_attribute: ClassVar[str] = ""
    sums_in: ClassVar[str] = ""
    layout_rule: ClassVar[str | None] = None
    kernel_layouts: ClassVar[Mapping[str, str]] = MappingProxyType({})
    depthwise_kernel_layouts: ClassVar[Mapping[str, str]] = MappingProxyType({})
    integer_form: ClassVar[str] = ""
    homogeneous: ClassVar[bool] = False
    fast_form: ClassVar[str] = ""
    named_types: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def shared_layout_rule(cls) -> str:
        """The shared layout rule that the operator follows: the one that it states, else the one that its pattern promises.

        An elementwise operator computes each element from the elements at the same place, so it works in any layout. No other
        pattern promises anything: the vector of `nn.bias_add`, which broadcasts, has an axis of its own.
        """
        if cls.layout_rule is not None:
            return cls.layout_rule
        return "elementwise" if cls.pattern is Pattern.ELEMWISE else ""

    @classmethod
    def sums_products(cls) -> bool:
        """True if most of the operator's work is multiplying and adding."""
        return cls.precision == "always" or bool(cls.sums_in)


def wrong_fact(cls: type[Facts], attributes: set[str]) -> str:
    """The error in the facts of a class, as a sentence without a subject; empty if they are correct.

    `attributes` are the names of the operator's attributes.
    """
    if cls.precision and cls.precision not in PRECISIONS:
        return f"states the precision {cls.precision!r}; there are {', '.join(PRECISIONS)}"
    if cls.integer_form and cls.integer_form not in INTEGER_FORMS:
        return f"states the integer form {cls.integer_form!r}; there is {', '.join(INTEGER_FORMS)}"
    if cls.homogeneous and cls.pattern is not Pattern.ELEMWISE:
        return "states that it is homogeneous, and is not elementwise"
    for fact in ("dtype_attribute", "narrowed_attribute", "sums_in", "vector_axis"):
        name = getattr(cls, fact)
        if name and name not in attributes:
            return f"states the {fact} {name!r}, and has no such attribute"
    import difflib

    known = [name for name, kind in Facts.__annotations__.items() if kind.startswith("ClassVar")]
    for name in vars(cls):
        meant = difflib.get_close_matches(name, known, 1, 0.9)
        if meant and name not in known and name not in attributes and not hasattr(Facts, name):
            return f"states {name}, which is no fact; did you mean {meant[0]}?"
    return ""
