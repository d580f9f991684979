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
    _Row("RemoveUnusedFunctions", "no later pass should work on unreachable functions"),
    _Row(
        "ToBasicBlockNormalForm",
        "the scope of every shared node is fixed before any pass moves code",
    ),
    _Row("qnn.Legalize", "quantized operators take forms that suit the target's instructions"),
    _Row("qnn.CanonicalizeOps", "… and then ordinary integer arithmetic"),
    _Row("Legalize", "other operators take forms that suit the single target", homogeneous=True),
    _Row("SimplifyInference", "normalisations become arithmetic, which later passes can fold into neighbours"),
    _Row(
        "EtaExpand{expand_constructor=true expand_global_var=false}",
        "constructors used as values become functions, which the machine represents as closures",
        vm=True,
    ),
    _Row("EliminateCommonSubexpr", "equal nodes merge before branches are compared"),
    _Row("CombineParallelConv2D{min_num_branches=3}", "convolutions of one input become one wide convolution"),
    _Row("CombineParallelDense{min_num_branches=3}", "the same for dense layers"),
    _Row("CombineParallelBatchMatmul{min_num_branches=3}", "the same for batched products"),
    _Row("FoldConstant", "expressions over weights from the passes above are evaluated"),
    _Row("FoldScaleAxis", "per-channel scales (of batch normalisations) go into the weights"),
    _Row("SimplifyExpr", "redundant casts, reshapes, transposes and arithmetic are removed"),
    _Row("CanonicalizeCast", "casts move to their users, so that fused kernels do not store the wider type"),
    _Row("CanonicalizeOps", "bias_add becomes expand_dims and add, which broadcast and fuse"),
    _Row("FlattenAtrousConv", "space_to_batch, convolution, batch_to_space become one dilated convolution"),
    _Row("InferType", "the choice of layouts needs shapes", homogeneous=True, vm=False),
    _Row("AlterOpLayout", "convolutions and dense layers get the layouts that their kernels expect", homogeneous=True),
    _Row("FastMath", "only at level 4: cheaper, less exact exp, tanh, erf"),
    _Row("FoldConstant", "layout transforms and scaling of weights are evaluated"),
)
_OWN_FIRST: tuple[PipelineRow, ...] = (
    (
        "PropagateDequantize",
        "what lies between dequantize and quantize becomes integer arithmetic, before these become arithmetic themselves",
    ),
)
_OWN_FOLDED: PipelineRow = (
    "PropagateConstantArguments",
    "what calls hand to loops is folded now: weights that are the same in each step are constants there, and what is computed from "
    "them alone is folded by the next row of FoldConstant",
)
_OWN: tuple[PipelineRow, ...] = (
    (
        "FoldExplicitPadding",
        "kernels of convolutions and pools pad what they read; a padded copy would be a kernel of its own",
    ),
    (
        "SinkConcatenate",
        "activations behind a concatenation fuse with the layers that it is made of, and these write their part of it",
    ),
    (
        "UnfoldScaleAxis",
        "scales that are left to be computed cost least where there are fewest elements, and their weights are constants again",
    ),
    (
        "ComposeLinear",
        "weights are constants now: linear layers without anything between them are composed, at the lowest resolution",
    ),
    (
        "PadChannels",
        "the target's vectors may be wider than the channels that layers have: blocks of them are whole vectors then",
    ),
)
"""What only `irtool build` runs, first of all and before kernels are formed: TVM has no such passes, and its own give TVM's results."""
_SPLIT: PipelineRow = ("SplitArgs", "the target may limit the number of kernel arguments")
_PLAN: PipelineRow = (
    "PlanDevices{mentioned_only=true}",
    "given a target, or a module with devices: fusion must not cross devices",
)
_FUSE: PipelineRow = ("FuseOps", "groups of operators become the kernels")
_GRAPH: tuple[PipelineRow, ...] = (
    _PLAN,
    _FUSE,
    ("InferType", "later passes need the types of kernels"),
    ("Inline", "functions lifted to be optimized once return to their callers"),
    ("InferType", "… and the callers are typed again"),
    ("LabelOps", "kernels get their hash, which identifies equal kernels and tuning records"),
    ("AnnotateMemoryScope", "tensors that are faster as textures on the device are marked"),
)
_CLEAN: PipelineRow = (
    "DeadCodeElimination{inline_once=false}",
    "lowering leaves unused `let` bindings of kernels behind",
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
        "the machine runs instructions in sequence: every value needs a name and a position",
    ),
    ("InferType", "functions to be lifted need type annotations"),
    ("LambdaLift", "the machine's code is one instruction list per global function: closures become global"),
    ("DeadCodeElimination{inline_once=false}", "lowered calls are kept even if their results are unused"),
    ("LabelOps", "kernels get their hash, which identifies equal kernels and tuning records"),
    ('LowerTE{module_name="vm_mod"}', "kernels become loop nests in the module, called by name"),
    _CLEAN,
    ("Inline", "functions lifted to be optimized once return to their callers, before allocation obscures the calls"),
    ("RemoveUnusedFunctions", "functions inlined everywhere need no instructions"),
    ("ManifestAlloc", "the allocation of storage and tensors for results becomes explicit"),
    ("FoldConstant", "constant sizes and shapes from allocation are evaluated"),
    *_lower("remaining size computations, and copies between devices, become kernels"),
    ("ManifestAlloc", "… and their results need storage, too"),
    *_lower("… with sizes that may have to be computed"),
    ("FoldConstant", "… unless they are constant"),
    *_lower("operators left by constant folding"),
    ("ManifestAlloc", "the last kernels get their storage"),
    ("FoldConstant", "… of constant size"),
    ("ManifestLifetimes", "registers are cleared after their last use, to free storage"),
    ("InferType", "the machine's registers need types"),
)


def _rows(vm: bool, homogeneous: bool, whole: bool) -> tuple[PipelineRow, ...]:
    prefix = tuple((r.text, r.reason) for r in _PREFIX if r.belongs(homogeneous, vm))
    if not whole:
        return prefix
    if vm:
        return prefix + _VM
    return prefix + ((_SPLIT,) if homogeneous else ()) + _GRAPH


def _build() -> tuple[PipelineRow, ...]:
    prefix = _rows(vm=False, homogeneous=True, whole=False)
    folded = 1 + next(n for n, (text, _) in enumerate(prefix) if text == "FoldConstant")
    first = prefix[:1] + _OWN_FIRST + prefix[1:folded] + (_OWN_FOLDED,) + prefix[folded:]
    return first + _OWN + _rows(vm=False, homogeneous=True, whole=True)[len(prefix) :]


@dataclass(frozen=True)
class Described:
    """A pipeline: what it is, and its rows in order."""

    summary: str
    rows: tuple[PipelineRow, ...]


PIPELINES: dict[str, Described] = {
    "build": Described(
        "what `irtool build` and `irtool run` run: `default`, and passes that TVM does not have", _build()
    ),
    "default": Described("TVM's build pipeline", _rows(vm=False, homogeneous=True, whole=True)),
    "vm": Described(
        "the pipeline of TVM's virtual machine",
        _rows(vm=True, homogeneous=True, whole=True),
    ),
    "prefix": Described("the build pipeline up to device planning", _rows(vm=False, homogeneous=True, whole=False)),
    "vm_prefix": Described(
        "the virtual machine's pipeline up to device planning",
        _rows(vm=True, homogeneous=True, whole=False),
    ),
    "heterogeneous": Described(
        "the build pipeline for several targets, without the passes for a single target",
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
"""Every pipeline that has a name; but for `build`, in TVM's order of passes."""
