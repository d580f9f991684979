"""The pipelines, as data: lists of pass names, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from .base import Composite, Pass, PassList
from .context import PassContext
from .pipeline import parse_pipeline

BUILD: tuple[tuple[str, str], ...] = (
    ("RemoveUnusedFunctions", "no later pass should work on what nothing calls"),
    ("ToBasicBlockNormalForm", "every shared node gets the scope it is evaluated in before anything moves code"),
    ("qnn.Legalize", "quantized operators become what the target has instructions for"),
    ("qnn.CanonicalizeOps", "… and then ordinary integer arithmetic"),
    ("Legalize", "other operators become forms that the target has good code for"),
    ("SimplifyInference", "normalisations become arithmetic, which later passes can fold into neighbours"),
    ("EliminateCommonSubexpr", "equal nodes merge before branches are compared"),
    ("CombineParallelConv2D{min_num_branches=3}", "convolutions of one input become one wide convolution"),
    ("CombineParallelDense{min_num_branches=3}", "the same for dense layers"),
    ("CombineParallelBatchMatmul{min_num_branches=3}", "the same for batched products"),
    ("FoldConstant", "what the steps above made of weights is computed now"),
    ("FoldScaleAxis", "per-channel scales (of batch normalisations) go into the weights"),
    ("SimplifyExpr", "casts, reshapes, transposes and arithmetic identities left over go"),
    ("CanonicalizeCast", "casts move to where they are used, so that fusion does not store the wider type"),
    ("CanonicalizeOps", "bias_add becomes expand_dims and add, which broadcast and fuse"),
    ("FlattenAtrousConv", "space_to_batch, convolution, batch_to_space become one dilated convolution"),
    ("InferType", "layouts are chosen by shapes"),
    ("AlterOpLayout", "convolutions get the blocked layouts that the kernels are written for"),
    ("FastMath", "only at level 4: cheaper, less exact exp, tanh, erf"),
    ("FoldConstant", "layout transforms of weights, and scales times weights, are computed now"),
    ("SplitArgs", "a kernel must not have more arguments than the target allows"),
    (
        "PlanDevices{mentioned_only=true}",
        "where the module speaks of devices: fusion must not cross from one to another",
    ),
    ("FuseOps", "groups of operators become the kernels"),
    ("InferType", "what follows looks at the types of the kernels"),
    ("Inline", "functions that were lifted to be optimized once go back to where they are called"),
    ("InferType", "… and what they became part of is typed again"),
    ("LabelOps", "kernels get their hash, by which equal ones and tuned ones are known"),
    ("AnnotateMemoryScope", "tensors that the device reads faster as textures are marked"),
)
"""The peer's build pipeline, in its order."""


@dataclass(frozen=True)
class Default(Composite):
    """`default<O0>` … `default<O4>`: the build pipeline at that level, whatever the context's own level is."""

    opt_level: int = 2
    name: ClassVar[str] = "default"

    def text(self) -> str:
        return f"default<O{self.opt_level}>"

    def passes(self) -> Sequence[Pass]:
        return [p for text, _ in BUILD for p in parse_pipeline(text)]

    def apply(self, module, context: PassContext):
        return PassList(tuple(self.passes())).apply(module, context.derived(opt_level=self.opt_level))


def explain() -> list[tuple[str, str]]:
    """Each pass of the build pipeline with the reason for its place."""
    return list(BUILD)
