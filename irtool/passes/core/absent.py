"""Passes of TVM's `tir.transform` without a counterpart here, each with the reason: loop nests lack the construct that it transforms."""

from __future__ import annotations

_THREADS = "nests are for processors: they have no thread axes, and no memory that threads share"
_BLOCKS = "nests have no TVMScript blocks: they are loops and statements from the start"
_RUNTIME = (
    "it adapts functions to TVM's runtime, and the code that irtool writes needs none: a backend makes its interface"
)
_DEVICES = "it is for accelerators with pragmas or scopes of their own, which nests do not have"

REASONS: dict[str, tuple[str, ...]] = {
    _THREADS: (
        "DecorateDeviceScope",
        "InferFragment",
        "InjectPTXAsyncCopy",
        "InjectVirtualThread",
        "LowerCrossThreadReduction",
        "LowerThreadAllreduce",
        "LowerWarpMemory",
        "ManifestSharedMemoryLocalStage",
        "MergeDynamicSharedMemoryAllocations",
        "SplitHostDevice",
        "ThreadSync",
        "UnifyThreadBinding",
    ),
    _BLOCKS: (
        "ApplyLayoutTransforms",
        "ConvertBlocksToOpaque",
        "InjectSoftwarePipeline",
        "LowerInitBlock",
        "LowerMatchBuffer",
        "LowerOpaqueBlock",
        "RemoveWeightLayoutRewriteBlock",
    ),
    _RUNTIME: (
        "AnnotateEntryFunc",
        "CombineContextCall",
        "LegalizePackedCalls",
        "LowerTVMBuiltin",
        "MakePackedAPI",
        "MakeUnpackedAPI",
    ),
    _DEVICES: ("CoProcSync", "InjectCopyIntrin", "LiftAttrScope", "LowerDeviceStorageAccessInfo", "TextureFlatten"),
    "nests are annotated with prefetch_scope and double_buffer_scope alone, not with rolling_buffer_scope": (
        "InjectRollingBuffer",
    ),
    "nests have no assertions: a function with `assert` is kept as text": ("SkipAssert",),
    "nests have no assumptions: a function with `@tir.assume` is kept as text": ("RemoveAssume",),
    "nests have no undefined values: a function with `@tir.undef` is kept as text": ("RemoveStoreUndef",),
    "bfloat16 is a dtype of nests: backends convert numbers that they load and store": ("BF16TypeLowering",),
    "it looks at functions for GPUs alone: on processors, all code may use the memory of callers": ("VerifyMemory",),
    "indices are checked when nests are read and after each pass, not while they run": ("InstrumentBoundCheckers",),
    "dtypes of one's own (custom[…]) are read and printed, but not computed with": ("LowerCustomDatatypes",),
    "a class derived from PrimFuncPass applies a function to nests": ("Apply",),
    "--func, or func(…) in a pipeline, selects functions": ("Filter",),
}
"""Names, without the prefix `tir.`, by the reason why there is no such pass."""


_TYPES = "types name no values here, and places are in the spans of nodes: `irtool opt --spans`"
_SHAPES = "shapes are given when a build starts, by --shape and --dim"
_PLANNED = "memory is planned from the lowered program, not in Relay"

RELAY_REASONS: dict[str, tuple[str, ...]] = {
    _TYPES: ("AnnotateSpans", "CapturePostDfsIndexInSpans"),
    _PLANNED: ("AnnotateUsedMemory", "LiftConstants", "MemoryPlan"),
    _SHAPES: ("FlexibleShapeDispatch",),
    "PartitionGraph goes by patterns alone, and no cost of accelerators is known": ("CollagePartition",),
}
"""The same for passes on Relay that TVM has, up to its last version with Relay, and irtool does not."""


def explain_absence(name: str) -> str:
    """A sentence on a pass of TVM that irtool does not have; empty for any other name."""
    for why, names in RELAY_REASONS.items():
        if name in names:
            return f"TVM's {name} is not here: {why}"
    bare = name.removeprefix("tir.")
    return next((f"TVM's tir.{bare} is not here: {why}" for why, names in REASONS.items() if bare in names), "")
