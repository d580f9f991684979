"""The pipelines, as data: lists of pass names, each with the reason for its place.

TVM has one prefix for its two compilers: `GetPassPrefix` (src/relay/backend/utils.cc), with rows that only one of them
runs, or that are left out where kernels run on several kinds of devices. What follows the prefix is in
`relay.build` (src/relay/backend/build_module.cc) and in the compiler of the virtual machine (src/relay/backend/vm/compiler.cc).
"""

from __future__ import annotations

from dataclasses import dataclass

PipelineRow = tuple[str, str]
"""A pass as in the text of a pipeline, and the reason for its place."""


@dataclass(frozen=True)
class _Row:
    """A row of the common prefix; `homogeneous` and `vm` say in which of the pipelines it is, None: in all."""

    text: str
    reason: str
    homogeneous: bool | None = None
    vm: bool | None = None

    def belongs(self, homogeneous: bool, vm: bool) -> bool:
        return self.homogeneous in (None, homogeneous) and self.vm in (None, vm)


_PREFIX: tuple[_Row, ...] = (
    _Row("RemoveUnusedFunctions", "no later pass should work on what nothing calls"),
    _Row(
        "ToBasicBlockNormalForm",
        "every shared node gets the scope it is evaluated in before anything moves code",
    ),
    _Row("qnn.Legalize", "quantized operators become what the target has instructions for"),
    _Row("qnn.CanonicalizeOps", "… and then ordinary integer arithmetic"),
    _Row("Legalize", "other operators become forms that the one target has good code for", homogeneous=True),
    _Row("SimplifyInference", "normalisations become arithmetic, which later passes can fold into neighbours"),
    _Row(
        "EtaExpand{expand_constructor=true expand_global_var=false}",
        "a constructor that is handed on as a value becomes a function, which the machine has closures for",
        vm=True,
    ),
    _Row("EliminateCommonSubexpr", "equal nodes merge before branches are compared"),
    _Row("CombineParallelConv2D{min_num_branches=3}", "convolutions of one input become one wide convolution"),
    _Row("CombineParallelDense{min_num_branches=3}", "the same for dense layers"),
    _Row("CombineParallelBatchMatmul{min_num_branches=3}", "the same for batched products"),
    _Row("FoldConstant", "what the steps above made of weights is computed now"),
    _Row("FoldScaleAxis", "per-channel scales (of batch normalisations) go into the weights"),
    _Row("SimplifyExpr", "casts, reshapes, transposes and arithmetic identities left over go"),
    _Row("CanonicalizeCast", "casts move to where they are used, so that fusion does not store the wider type"),
    _Row("CanonicalizeOps", "bias_add becomes expand_dims and add, which broadcast and fuse"),
    _Row("FlattenAtrousConv", "space_to_batch, convolution, batch_to_space become one dilated convolution"),
    _Row("InferType", "layouts are chosen by shapes", homogeneous=True, vm=False),
    _Row("AlterOpLayout", "convolutions get the blocked layouts that the kernels are written for", homogeneous=True),
    _Row("FastMath", "only at level 4: cheaper, less exact exp, tanh, erf"),
    _Row("FoldConstant", "layout transforms of weights, and scales times weights, are computed now"),
)
_SPLIT: PipelineRow = ("SplitArgs", "a kernel must not have more arguments than the one target allows")
_PLAN: PipelineRow = (
    "PlanDevices{mentioned_only=true}",
    "where there is a target, or the module speaks of devices: fusion must not cross from one to another",
)
_FUSE: PipelineRow = ("FuseOps", "groups of operators become the kernels")
_GRAPH: tuple[PipelineRow, ...] = (
    _PLAN,
    _FUSE,
    ("InferType", "what follows looks at the types of the kernels"),
    ("Inline", "functions that were lifted to be optimized once go back to where they are called"),
    ("InferType", "… and what they became part of is typed again"),
    ("LabelOps", "kernels get their hash, by which equal ones and tuned ones are known"),
    ("AnnotateMemoryScope", "tensors that the device reads faster as textures are marked"),
)
_CLEAN: PipelineRow = (
    "DeadCodeElimination{inline_once=false}",
    "lowering has left the `let`s of kernels behind, which nothing calls now",
)


def _lower(why: str) -> tuple[PipelineRow, ...]:
    """The four passes that the virtual machine's compiler runs whenever a pass before them has made new operators."""
    return (
        ("FuseOps", why),
        ("LabelOps", "… labelled"),
        ('LowerTE{module_name="vm_mod"}', "… and lowered"),
        _CLEAN,
    )


_VM: tuple[PipelineRow, ...] = (
    _PLAN,
    _FUSE,
    (
        "ToANormalForm",
        "the machine runs one instruction after the other: every value gets a name and a place in the order",
    ),
    ("InferType", "what is lifted next needs its type written at it"),
    ("LambdaLift", "the machine's code is one list of instructions for each global function: closures become such"),
    ("DeadCodeElimination{inline_once=false}", "once lowered, calls are kept whether or not their results are used"),
    ("LabelOps", "kernels get their hash, by which equal ones and tuned ones are known"),
    ('LowerTE{module_name="vm_mod"}', "kernels become loop nests of the module, which the machine calls by name"),
    _CLEAN,
    ("Inline", "functions that were lifted to be optimized once go back, before allocation hides what they call"),
    ("RemoveUnusedFunctions", "what was inlined everywhere gets no instructions"),
    ("ManifestAlloc", "storage and tensors for the results of kernels are instructions of their own"),
    ("FoldConstant", "sizes and shapes that allocation computes of constants are computed now"),
    *_lower("what is left of them, and copies between devices, become kernels"),
    ("ManifestAlloc", "… whose results need storage, too"),
    *_lower("… the sizes of which may have to be computed"),
    ("FoldConstant", "… unless they are constant"),
    *_lower("what folding left"),
    ("ManifestAlloc", "the last kernels get their storage"),
    ("FoldConstant", "… of constant size"),
    ("ManifestLifetimes", "registers are emptied after their last use, so that storage is free again"),
    ("InferType", "the machine's registers have types"),
)


def _rows(vm: bool, homogeneous: bool, whole: bool) -> tuple[PipelineRow, ...]:
    prefix = tuple((r.text, r.reason) for r in _PREFIX if r.belongs(homogeneous, vm))
    if not whole:
        return prefix
    if vm:
        return prefix + _VM
    return prefix + ((_SPLIT,) if homogeneous else ()) + _GRAPH


@dataclass(frozen=True)
class Described:
    """A pipeline: what it is, and its rows in order."""

    summary: str
    rows: tuple[PipelineRow, ...]


PIPELINES: dict[str, Described] = {
    "default": Described("the build pipeline", _rows(vm=False, homogeneous=True, whole=True)),
    "vm": Described(
        "the pipeline of TVM's virtual machine, from a module to its instructions",
        _rows(vm=True, homogeneous=True, whole=True),
    ),
    "prefix": Described(
        "what the build pipeline does before devices are planned", _rows(vm=False, homogeneous=True, whole=False)
    ),
    "vm_prefix": Described(
        "what the virtual machine's pipeline does before devices are planned",
        _rows(vm=True, homogeneous=True, whole=False),
    ),
    "heterogeneous": Described(
        "the build pipeline for several targets: without the passes that look at the only one",
        _rows(vm=False, homogeneous=False, whole=True),
    ),
    "heterogeneous_vm": Described(
        "the virtual machine's pipeline for several targets", _rows(vm=True, homogeneous=False, whole=True)
    ),
    "heterogeneous_prefix": Described(
        "the prefix of the build pipeline for several targets", _rows(vm=False, homogeneous=False, whole=False)
    ),
    "heterogeneous_vm_prefix": Described(
        "the prefix of the virtual machine's pipeline for several targets",
        _rows(vm=True, homogeneous=False, whole=False),
    ),
}
"""Every pipeline that has a name, in TVM's order of passes."""
