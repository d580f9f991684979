"""Names of passes in lists of required and disabled ones: known names, and errors for others."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...diagnostics import UsageError, nearest
from .mistakes import UnknownPass
from .pipelines import PIPELINES
from .registry import passes

_OF_TVM_ALONE = frozenset(
    [
        "AnnotateSpans",
        "AnnotateUsedMemory",
        "AOTLowerMain",
        "CapturePostDfsIndexInSpans",
        "CMSISNNFusePads",
        "CollagePartition",
        "CombineParallelOpBatch",
        "CompileForCutlass",
        "CompileForTensorRT",
        "ExtractConstantsFromPartitionedFunction",
        "ExtractFusedFunctions",
        "FlattenNestedTuples",
        "GenerateCMSISNNConstants",
        "ManifestAllocImportStorage",
        "NameMangleExtFuncs",
        "PreprocessExternalFuncIO",
        "PrintIR",
        "QuantizeAnnotate",
        "QuantizePartition",
        "QuantizeRealize",
        "RelayToTIR",
        "RemoveDefaultAnnotations",
        "ScalarToTensorConstant",
    ]
)
"""`PassInfo` names on Relay modules that TVM 0.10 has and irtool does not: the names in its lists may include them, too."""

_GROUPS = ("sequential", "func")
_MADE: set[str] = set()


def declare_pass_name(name: str) -> None:
    """Makes a name known that no registry has: that of a pass or sequence that a program made for itself."""
    _MADE.add(name)


def check_pass_names(names: Iterable[str], also: Collection[str] = ()) -> None:
    """Raises UsageError for a name of no pass: nothing would be skipped or required, and nobody would say so.

    A pass goes by its name or by that in its `PassInfo`; names of TVM's passes that irtool has no counterpart of (all of
    `tir.…` among them) are taken, and have nothing to act on. `also` are further names, of other things than passes, that are allowed with them.
    """
    groups = (*_GROUPS, *PIPELINES)
    for name in names:
        if (
            name in also
            or name in groups
            or name in _MADE
            or name in passes
            or name in _OF_TVM_ALONE
            or name.startswith("tir.")
        ):
            continue
        kind = "pass or stage" if also else "pass"
        raise UsageError(
            f"unknown {kind} {name}", help=nearest(name, [*passes.names(), *groups, *also]), code=UnknownPass
        )
