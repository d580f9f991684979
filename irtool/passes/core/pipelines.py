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
    _Row("RemoveUnusedFunctions", "removes unreachable functions, so that no later pass works on them"),
    _Row(
        "ToBasicBlockNormalForm",
        "fixes the scope of every shared node before any pass moves code",
    ),
    _Row("qnn.Legalize", "rewrites quantized operators for the target's instructions"),
    _Row("qnn.CanonicalizeOps", "lowers quantized operators to integer arithmetic"),
    _Row("Legalize", "rewrites other operators for the single target", homogeneous=True),
    _Row("SimplifyInference", "rewrites normalisations as arithmetic, which later passes fold into neighbours"),
    _Row(
        "EtaExpand{expand_constructor=true expand_global_var=false}",
        "wraps constructors used as values in functions, which the machine represents as closures",
        vm=True,
    ),
    _Row("EliminateCommonSubexpr", "merges equal nodes before branches are compared"),
    _Row("CombineParallelConv2D{min_num_branches=3}", "merges convolutions of one input into one wide convolution"),
    _Row("CombineParallelDense{min_num_branches=3}", "merges dense layers of one input into one wide layer"),
    _Row(
        "CombineParallelBatchMatmul{min_num_branches=3}", "merges batched products of one input into one wide product"
    ),
    _Row("FoldConstant", "evaluates the expressions over weights that earlier passes created"),
    _Row("FoldScaleAxis", "folds per-channel scales (of batch normalisations) into the weights"),
    _Row("SimplifyExpr", "removes redundant casts, reshapes, transposes and arithmetic"),
    _Row("CanonicalizeCast", "moves casts to their users, so that fused kernels do not store the wider type"),
    _Row("CanonicalizeOps", "rewrites bias_add as expand_dims and add, which broadcast and fuse"),
    _Row("FlattenAtrousConv", "merges space_to_batch, convolution, batch_to_space into one dilated convolution"),
    _Row("InferType", "infers the shapes that the choice of layouts needs", homogeneous=True, vm=False),
    _Row(
        "AlterOpLayout",
        "changes convolutions and dense layers to the layouts that their kernels expect",
        homogeneous=True,
    ),
    _Row("FastMath", "replaces exp, tanh and erf by cheaper, less exact ones; at level 4 only"),
    _Row("FoldConstant", "evaluates layout transforms and scaling of weights"),
)
_OWN_FIRST: tuple[PipelineRow, ...] = (
    (
        "PropagateDequantize",
        "rewrites operators between dequantize and quantize as integer arithmetic; runs before both are lowered to arithmetic",
    ),
)
_OWN_FOLDED: PipelineRow = (
    "PropagateConstantArguments",
    "replaces parameters of loops that are the same constant in each step, such as weights; the next FoldConstant evaluates "
    "the expressions over them",
)
_OWN: tuple[PipelineRow, ...] = (
    (
        "FoldExplicitPadding",
        "folds pad into convolutions and pools, which pad as they read; a padded copy would be a separate kernel",
    ),
    (
        "SinkConcatenate",
        "moves activations above concatenations, where they fuse with the layers that write the operands",
    ),
    (
        "UnfoldScaleAxis",
        "moves scales that are computed at run time from large weights back to small data; the weights become constants again",
    ),
    (
        "ComposeLinear",
        "composes adjacent linear layers at the lowest resolution; runs after their weights are constants",
    ),
    (
        "PadChannels",
        "pads channels to blocks of the target's vectors, which may be wider than a layer's channels",
    ),
    (
        "RecomputeElementwise",
        "computes values of a training step again where the backward pass reads them; runs after equal nodes are merged, and before kernels are made",
    ),
)
"""The rows of `irtool build` alone, which TVM does not have. The other pipelines give TVM's results."""
_SPLIT: PipelineRow = ("SplitArgs", "splits calls that exceed the target's limit of kernel arguments")
_PLAN: PipelineRow = (
    "PlanDevices{mentioned_only=true}",
    "assigns devices, which fusion must not cross; needs a target, or a module with devices",
)
_FUSE: PipelineRow = ("FuseOps", "groups operators into the kernels")
_GRAPH: tuple[PipelineRow, ...] = (
    _PLAN,
    _FUSE,
    ("InferType", "infers the types of kernels for later passes"),
    ("Inline", "inlines the functions that were lifted to be optimized once"),
    ("InferType", "infers the types of their callers again"),
    ("LabelOps", "adds the hash of each kernel, which identifies equal kernels and tuning records"),
    ("AnnotateMemoryScope", "marks tensors that are faster as textures on the device"),
)
_CLEAN: PipelineRow = (
    "DeadCodeElimination{inline_once=false}",
    "removes unused `let` bindings of kernels, which lowering leaves",
)


def _lower(why: str) -> tuple[PipelineRow, ...]:
    """The four passes that lower new operators in the virtual machine's compiler, after each pass that creates some."""
    return (
        ("FuseOps", why),
        ("LabelOps", "labels the new kernels"),
        ('LowerTE{module_name="vm_mod"}', "lowers the new kernels"),
        _CLEAN,
    )


_VM: tuple[PipelineRow, ...] = (
    _PLAN,
    _FUSE,
    (
        "ToANormalForm",
        "gives every value a name and a position: the machine runs instructions in sequence",
    ),
    ("InferType", "infers the type annotations of functions to be lifted"),
    ("LambdaLift", "lifts closures to global functions: the machine has one instruction list per global function"),
    (
        "DeadCodeElimination{inline_once=false}",
        "removes unused bindings before kernels are lowered: lowered calls are kept even if their results are unused",
    ),
    ("LabelOps", "adds the hash of each kernel, which identifies equal kernels and tuning records"),
    ('LowerTE{module_name="vm_mod"}', "lowers kernels to loop nests in the module, called by name"),
    _CLEAN,
    ("Inline", "inlines the functions that were lifted to be optimized once, before allocation obscures the calls"),
    ("RemoveUnusedFunctions", "removes functions that were inlined everywhere"),
    ("ManifestAlloc", "makes the allocation of storage and tensors for results explicit"),
    ("FoldConstant", "evaluates constant sizes and shapes of allocations"),
    *_lower("groups remaining size computations, and copies between devices, into kernels"),
    ("ManifestAlloc", "allocates the results of these kernels"),
    *_lower("groups the size computations of these allocations into kernels"),
    ("FoldConstant", "evaluates the constant ones of these sizes"),
    *_lower("groups the operators that constant folding left into kernels"),
    ("ManifestAlloc", "allocates the results of the last kernels"),
    ("FoldConstant", "evaluates their constant sizes"),
    ("ManifestLifetimes", "clears registers after their last use, to free storage"),
    ("InferType", "infers the types of the machine's registers"),
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
    """A pipeline: its description, and its rows in order."""

    summary: str
    rows: tuple[PipelineRow, ...]


PIPELINES: dict[str, Described] = {
    "build": Described(
        "the pipeline of `irtool build` and `irtool run`: `default`, and passes that TVM does not have", _build()
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
