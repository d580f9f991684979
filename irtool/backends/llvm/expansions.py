"""Weights that are transformed when they are loaded, in LLVM IR: see `c/runtime/expansions.c`."""

from __future__ import annotations

import struct
from math import gcd

from ..interface.expanded_weights import StoredWeights
from ..interface.memory import ALIGNMENT
from .builder import whole_function

_MOST_LANES = 8

_COMBINE = """\
entry:
  br label %block
block:
  %b = phi i64 [ 0, %entry ], [ %b_next, %block_end ]
  %source = phi ptr [ %from, %entry ], [ %source_next, %block_end ]
  %target = phi ptr [ %to, %entry ], [ %target_next, %block_end ]
  br label %part
part:
  %k = phi i64 [ 0, %block ], [ %k_next, %part_end ]
  br label %row
row:
  %r = phi i64 [ 0, %part ], [ %r_next, %row_end ]
  %r_factors = mul i64 %r, %columns
  br label %column
column:
  %c = phi i64 [ 0, %row ], [ %c_next, %column ]
  %sum = phi {wide} [ zeroinitializer, %row ], [ %sum_next, %column ]
  %number = add i64 %r_factors, %c
  %factor_at = getelementptr inbounds double, ptr %factors, i64 %number
  %factor = load double, ptr %factor_at, align 8
  %factor_one = insertelement {wide} poison, double %factor, i64 0
  %factor_all = shufflevector {wide} %factor_one, {wide} poison, <{lanes} x i32> zeroinitializer
  %c_elements = mul i64 %c, %size
  %c_index = add i64 %c_elements, %k
  %values_at = getelementptr inbounds float, ptr %source, i64 %c_index
  %values = load {narrow}, ptr %values_at, align 4
  %widened = fpext {narrow} %values to {wide}
  %product = fmul {wide} %factor_all, %widened
  %sum_next = fadd {wide} %sum, %product
  %c_next = add i64 %c, 1
  %c_more = icmp ult i64 %c_next, %columns
  br i1 %c_more, label %column, label %row_end
row_end:
  %rounded = fptrunc {wide} %sum_next to {narrow}
  %r_elements = mul i64 %r, %size
  %r_index = add i64 %r_elements, %k
  %results_at = getelementptr inbounds float, ptr %target, i64 %r_index
  store {narrow} %rounded, ptr %results_at, align 4
  %r_next = add i64 %r, 1
  %r_more = icmp ult i64 %r_next, %rows
  br i1 %r_more, label %row, label %part_end
part_end:
  %k_next = add i64 %k, {lanes}
  %k_more = icmp ult i64 %k_next, %size
  br i1 %k_more, label %part, label %block_end
block_end:
  %source_size = mul i64 %columns, %size
  %source_next = getelementptr inbounds float, ptr %source, i64 %source_size
  %target_size = mul i64 %rows, %size
  %target_next = getelementptr inbounds float, ptr %target, i64 %target_size
  %b_next = add i64 %b, 1
  %b_more = icmp ult i64 %b_next, %blocks
  br i1 %b_more, label %block, label %done
done:
  ret void
"""
"""The function that computes the blocks of one constant: rows of a block are sums of other rows, times factors."""

_EXPAND = """\
entry:
  %before = load atomic ptr, ptr @{name}_expanded acquire, align 8
  %is_there = icmp ne ptr %before, null
  %stays = select i1 %again, i1 false, i1 %is_there
  br i1 %stays, label %done, label %find
find:
  br i1 %is_there, label %compute, label %reserve
reserve:
  %room = call ptr @malloc(i64 {room})
  %full = icmp eq ptr %room, null
  br i1 %full, label %giveup, label %align
align:
  %begin = ptrtoint ptr %room to i64
  %over = add i64 %begin, {most}
  %aligned = and i64 %over, {mask}
  %memory = inttoptr i64 %aligned to ptr
  br label %compute
compute:
  %own = phi ptr [ null, %find ], [ %room, %align ]
  %results = phi ptr [ %before, %find ], [ %memory, %align ]
{calls}
  br i1 %is_there, label %done, label %publish
publish:
  %kept = cmpxchg ptr @{name}_expanded, ptr null, ptr %results acq_rel acquire
  %is_first = extractvalue {{ ptr, i1 }} %kept, 1
  br i1 %is_first, label %done, label %spare
spare:
  call void @free(ptr %own)
  br label %done
done:
  ret i32 0
giveup:
  ret i32 1
"""
"""The function that computes all of them, once, or each time if `%again`. It returns 0, or 1 without memory."""


def expansions(name: str, stored: StoredWeights) -> list[str]:
    """The definitions of `NAME_expanded`, the memory of these weights, and of `NAME_expand_once`, which fills it from the bytes of a
    weights file; nothing without such weights."""
    if not stored.sources:
        return []
    lanes = gcd(_MOST_LANES, *(x.size for _, _, x, _ in stored.expansions))
    types = {"wide": f"<{lanes} x double>", "narrow": f"<{lanes} x float>", "lanes": lanes}
    factors = [f"double {_double(v)}" for matrix in stored.factors for row in matrix for v in row]
    calls = []
    for n, (source, place, x, first) in enumerate(stored.expansions):
        calls += [
            f"  %from_{n} = getelementptr inbounds i8, ptr %bytes, i64 {source}",
            f"  %to_{n} = getelementptr inbounds i8, ptr %results, i64 {place}",
            f"  %factors_{n} = getelementptr inbounds double, ptr @{name}_factors, i64 {first}",
            f"  call void @{name}_combine(ptr %from_{n}, ptr %to_{n}, ptr %factors_{n}, i64 {x.blocks}, i64 {x.size}, "
            f"i64 {x.rows}, i64 {x.columns})",
        ]
    sizes = {"room": stored.expanded_bytes + ALIGNMENT, "most": ALIGNMENT - 1, "mask": -ALIGNMENT}
    parameters = "ptr %from, ptr %to, ptr %factors, i64 %blocks, i64 %size, i64 %rows, i64 %columns"
    return [
        f"@{name}_expanded = internal global ptr null",
        f"@{name}_factors = internal constant [{len(factors)} x double] [{', '.join(factors)}], align 8",
        *whole_function(f"define internal void @{name}_combine({parameters}) nounwind", _COMBINE.format(**types)),
        *whole_function(
            f"define internal i32 @{name}_expand_once(ptr %bytes, i1 %again) nounwind",
            _EXPAND.format(name=name, calls="\n".join(calls), **sizes),
        ),
    ]


def _double(value: float) -> str:
    """A number as LLVM reads it: the bits of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
