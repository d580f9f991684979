"""Constants of a program: in its text, or in the file `NAME.bin`, which has the format of the C backend."""

from __future__ import annotations

from typing import Any

from ...selection.vectors.types import HALVES
from ...tir.program import Slot
from ..interface.memory import ALIGNMENT
from ..interface.weights_digest import FACTOR, LANES, ROW, lanes_within
from ..interface.weights_file import stored_digest
from .builder import whole_function
from .types import literal, stored_type


def definition(c: Slot, symbol: str) -> str:
    """A constant in the text."""
    shape = ", ".join(map(str, c.shape))
    t = stored_type(c.dtype)
    values = _numbers(c)
    # An empty one has an address all the same.
    inside = f"[{', '.join(f'{t} {v}' for v in values)}]" if values else "zeroinitializer"
    kind = f"[{max(1, len(values))} x {t}]"
    return f"@{symbol} = internal constant {kind} {inside}, align {ALIGNMENT} ; {c.dtype}[{shape}]"


def _numbers(c: Slot) -> list[str]:
    data: Any = c.data.reshape(-1)
    if c.dtype in HALVES:
        return [str(v) for v in data.view("uint16").tolist()]
    if c.dtype == "bool":
        return [str(int(v)) for v in data.tolist()]
    return [literal(v, c.dtype) for v in data.tolist()]


_GLOBALS = """\
@{name}_weights = internal global ptr null
@{name}_loaded = internal global ptr null
@{name}_identity = internal constant [32 x i8] [{identity}]
@{name}_mode = internal constant [3 x i8] c"rb\\00"
declare i32 @memcmp(ptr, ptr, i64)
declare ptr @fopen(ptr, ptr)
declare i64 @fread(ptr, i64, i64, ptr)
declare i32 @fgetc(ptr)
declare i32 @ferror(ptr)
declare i32 @fclose(ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
"""
"""The data of the functions below, and declarations of their callees."""

_ARE_OWN = """\
entry:
  %none = icmp eq ptr %bytes, null
  br i1 %none, label %no, label %look
look:
  %differ = call i32 @memcmp(ptr %bytes, ptr @{name}_identity, i64 32)
  %own = icmp eq i32 %differ, 0
  ret i1 %own
no:
  ret i1 false
"""
"""The function that returns True for the bytes of this program's weights file."""

_SET = """\
entry:
  %own = call i1 @{name}_are_own(ptr %bytes)
  br i1 %own, label %{set_first}, label %refuse
{set_expand}take:
  store ptr %bytes, ptr @{name}_weights
  ret i32 0
refuse:
  ret i32 2
"""
"""The function that sets the weights, if the bytes are those of this program's weights file."""

_LOAD = """\
entry:
  %unnamed = icmp eq ptr %path, null
  br i1 %unnamed, label %unread, label %open
open:
  %file = call ptr @fopen(ptr %path, ptr @{name}_mode)
  %missing = icmp eq ptr %file, null
  br i1 %missing, label %unread, label %room
room:
  %room_at = call ptr @malloc(i64 {room})
  %full = icmp eq ptr %room_at, null
  br i1 %full, label %close, label %read
close:
  %closed = call i32 @fclose(ptr %file)
  br label %unread
read:
  %begin = ptrtoint ptr %room_at to i64
  %over = add i64 %begin, {most}
  %aligned = and i64 %over, {mask}
  %bytes = inttoptr i64 %aligned to ptr
  %got = call i64 @fread(ptr %bytes, i64 1, i64 {size}, ptr %file)
  %more = call i32 @fgetc(ptr %file)
  %error = call i32 @ferror(ptr %file)
  %ended = call i32 @fclose(ptr %file)
  %failed = icmp ne i32 %error, 0
  br i1 %failed, label %giveup, label %measure
measure:
  %all = icmp eq i64 %got, {size}
  %last = icmp eq i32 %more, -1
  %fits = and i1 %all, %last
  br i1 %fits, label %compare, label %damaged
compare:
  %own = call i1 @{name}_are_own(ptr %bytes)
  br i1 %own, label %verify, label %damaged
verify:
{check}
{expand}take:
  %before = load atomic ptr, ptr @{name}_weights acquire, align 8
  %kept = cmpxchg ptr @{name}_loaded, ptr null, ptr %bytes acq_rel acquire
  %earlier = extractvalue {{ ptr, i1 }} %kept, 0
  %is_first = extractvalue {{ ptr, i1 }} %kept, 1
  br i1 %is_first, label %use, label %spare
spare:
  call void @free(ptr %room_at)
  br label %use
use:
  %first = phi ptr [ %bytes, %take ], [ %earlier, %spare ]
  %is_used = icmp eq ptr %before, %first
  br i1 %is_used, label %done, label %switch
switch:
  %switched = cmpxchg ptr @{name}_weights, ptr %before, ptr %first acq_rel acquire
  br label %done
done:
  ret i32 0
damaged:
  call void @free(ptr %room_at)
  ret i32 2
giveup:
  call void @free(ptr %room_at)
  br label %unread
unread:
  ret i32 3
{full}"""
"""The same for a file, which is read into memory."""


def accessors(name: str, size: int, beginning: bytes, digest: str, expands: bool = False) -> list[str]:
    """`NAME_set_weights` and `NAME_load_weights`, as `NAME.h` describes them. The file is read into memory.

    Args:
        size: bytes of the file.
        beginning: its first bytes.
        digest: symbol of the function that computes the digest of the contents; empty for no check.
        expands: `NAME_expand_once` computes further weights from the bytes (see `expansions`).
    """
    identity = ", ".join(f"i8 {b}" for b in beginning[:32])
    accepted = "expand" if expands else "take"
    check = [f"  br label %{accepted}"]
    if digest:
        check = [
            f"  %contents = getelementptr inbounds i8, ptr %bytes, i64 {ALIGNMENT}",
            f"  %found = call i64 {digest}(ptr %contents, i64 {size - ALIGNMENT})",
            f"  %same = icmp eq i64 %found, {stored_digest(beginning)}",
            f"  br i1 %same, label %{accepted}, label %damaged",
        ]
    sizes = {"size": size, "room": size + ALIGNMENT, "most": ALIGNMENT - 1, "mask": -ALIGNMENT}
    return [
        *_GLOBALS.format(name=name, identity=identity).split("\n"),
        *whole_function(f"define internal i1 @{name}_are_own(ptr %bytes) nounwind", _ARE_OWN.format(name=name)),
        *whole_function(
            f"define i32 @{name}_set_weights(ptr %bytes) nounwind", _SET.format(name=name, **_setting(name, expands))
        ),
        *whole_function(
            f"define i32 @{name}_load_weights(ptr %path) nounwind",
            _LOAD.format(name=name, check="\n".join(check), **_loading(name, expands), **sizes),
        ),
    ]


def _setting(name: str, expands: bool) -> dict[str, str]:
    """The parts of `NAME_set_weights` that depend on weights that are computed."""
    if not expands:
        return {"set_first": "take", "set_expand": ""}
    return {"set_first": "expand", "set_expand": _expand(name, "true", "full") + _FULL.format(before="")}


def _loading(name: str, expands: bool) -> dict[str, str]:
    """The same of `NAME_load_weights`."""
    if not expands:
        return {"expand": "", "full": ""}
    spare = "  call void @free(ptr %room_at)\n"
    return {
        "expand": _expand(name, "false", "no_room"),
        "full": _FULL.replace("full:", "no_room:").format(before=spare),
    }


def _expand(name: str, again: str, full: str) -> str:
    return f"""\
expand:
  %expand_error = call i32 @{name}_expand_once(ptr %bytes, i1 {again})
  %is_expanded = icmp eq i32 %expand_error, 0
  br i1 %is_expanded, label %take, label %{full}
"""


_FULL = """\
full:
{before}  ret i32 1
"""


_STEP = 8
"""Lanes of the digest in a vector."""


_DIGEST = """\
entry:
  %lanes = alloca [{lanes} x i64], align 64
  br label %part
part:
  %first = phi i64 [ 0, %entry ], [ %first_next, %part_end ]
  %before = phi i64 [ 0, %entry ], [ %result_next, %part_end ]
  %first_one = insertelement {t} poison, i64 %first, i64 0
  %first_all = shufflevector {t} %first_one, {t} poison, <{step} x i32> zeroinitializer
  %first_lanes = add {t} %first_all, {numbers}
  %first_byte = mul i64 %first, 8
  br label %clear
clear:
  %c = phi i64 [ 0, %part ], [ %c_next, %clear ]
  %start = phi {t} [ %first_lanes, %part ], [ %start_next, %clear ]
  %c_place = getelementptr inbounds i64, ptr %lanes, i64 %c
  store {t} %start, ptr %c_place, align 64
  %start_next = add {t} %start, {eight}
  %c_next = add i64 %c, {step}
  %c_more = icmp ult i64 %c_next, {lanes}
  br i1 %c_more, label %clear, label %rows
rows:
  %at = phi i64 [ %first_byte, %clear ], [ %behind, %row_end ]
  %any = icmp ult i64 %at, %size
  br i1 %any, label %row, label %fold
row:
  %left = sub i64 %size, %at
  %short = icmp ult i64 %left, {part}
  %length = select i1 %short, i64 %left, i64 {part}
  br label %mix
mix:
  %offset = phi i64 [ 0, %row ], [ %next, %mix ]
  %here = add i64 %at, %offset
  %place = getelementptr inbounds i8, ptr %bytes, i64 %here
  %words = load {t}, ptr %place, align 1
  %lane_place = getelementptr inbounds i8, ptr %lanes, i64 %offset
  %lane = load {t}, ptr %lane_place, align 64
  %xored = xor {t} %lane, %words
  %product = mul {t} %xored, {factors}
  %shifted = lshr {t} %product, {half}
  %mixed = xor {t} %product, %shifted
  store {t} %mixed, ptr %lane_place, align 64
  %next = add i64 %offset, {vector}
  %inside = icmp ult i64 %next, %length
  br i1 %inside, label %mix, label %row_end
row_end:
  %behind = add i64 %at, {row}
  br label %rows
fold:
  %n = phi i64 [ 0, %rows ], [ %n_next, %fold ]
  %result = phi i64 [ %before, %rows ], [ %result_next, %fold ]
  %n_place = getelementptr inbounds i64, ptr %lanes, i64 %n
  %one = load i64, ptr %n_place, align 8
  %both = xor i64 %result, %one
  %times = mul i64 %both, {factor}
  %upper = lshr i64 %times, 32
  %result_next = xor i64 %times, %upper
  %n_next = add i64 %n, 1
  %n_more = icmp ult i64 %n_next, {lanes}
  br i1 %n_more, label %fold, label %part_end
part_end:
  %first_next = add i64 %first, {lanes}
  %part_more = icmp ult i64 %first_next, {all_lanes}
  br i1 %part_more, label %part, label %done
done:
  ret i64 %result_next
"""
"""The function of the digest. Lanes are on the stack, a part of them at a time; a part begins where the one before it ends in
each row."""


def digest_function(symbol: str, stack_bytes: int = ROW) -> list[str]:
    """The digest of `backends.interface.weights_digest` as a function of bytes and their number, a multiple of 64.

    It computes as many lanes at a time as fit in `stack_bytes`: each time, it reads a part of every row.
    """
    t = f"<{_STEP} x i64>"
    lanes = lanes_within(stack_bytes)
    factor = FACTOR - (1 << 64) if FACTOR >> 63 else FACTOR
    factors, half, eight = (f"<{', '.join([f'i64 {n}'] * _STEP)}>" for n in (factor, 32, _STEP))
    numbers = f"<{', '.join(f'i64 {n}' for n in range(1, _STEP + 1))}>"
    body = _DIGEST.format(
        t=t,
        lanes=lanes,
        part=8 * lanes,
        step=_STEP,
        vector=8 * _STEP,
        all_lanes=LANES,
        row=ROW,
        factor=factor,
        factors=factors,
        half=half,
        eight=eight,
        numbers=numbers,
    )
    return whole_function(f"define internal i64 @{symbol}(ptr %bytes, i64 %size) nounwind", body)
