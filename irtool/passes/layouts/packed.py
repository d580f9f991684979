"""Dense layers whose weights are packed as a processor's kernels read them (TVM 0.10's `topi/x86/dense_alter_op.py`)."""

from __future__ import annotations

from ...ir import Call, TensorType
from ...ir.target import Target
from ...ops.base import call
from ..core.x86_processors import has_byte_dots, vector_lanes
from .alteration import alteration, has_libraries, largest_block


@alteration("nn.dense")
def packed(old: Call, new: Call, target: Target) -> Call | None:
    """`nn.contrib_dense_pack`: weights in blocks of two vectors of units; of bytes in blocks of 16 units by 4 columns.

    None for data that are no matrix, on Arm, and where the target names a library that multiplies these matrices.
    """
    data, weight, result = (e.checked_type for e in (*old.args, old))
    if not isinstance(data, TensorType) or not isinstance(weight, TensorType) or not isinstance(result, TensorType):
        return None
    if "arm_cpu" in target.keys or len(data.shape) != 2:
        return None
    units, columns = weight.shape
    if not isinstance(units, int) or not isinstance(columns, int) or not units:
        return None
    dtypes = (data.dtype, weight.dtype, result.dtype)
    if dtypes[:2] == ("uint8", "int8") and has_byte_dots(target.option("mcpu")) and not (units % 16 or columns % 4):
        layout = "NC16n4c"
    elif _multiplied_by_a_library(target, dtypes):
        return None
    else:
        layout = f"NC{largest_block(units, 2 * vector_lanes(target))}n"
    return call("nn.contrib_dense_pack", *new.args, units=None, out_dtype=result.dtype, weight_layout=layout)


def _multiplied_by_a_library(target: Target, dtypes: tuple[str, str, str]) -> bool:
    if dtypes == ("uint8", "int8", "int32"):
        return has_libraries(target, "mkl")
    libraries = {"float32": ("cblas", "mkl", "dnnl"), "float64": ("cblas", "mkl")}.get(dtypes[0], ())
    return len(set(dtypes)) == 1 and has_libraries(target, *libraries)
