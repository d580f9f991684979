"""The functions on instances of a network with states, and the addresses of tensors in one: the same memory as the C backend's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...tir.errors import OTHER_STATE_ERROR
from ...tir.program import Slot
from ..interface.states import FACTOR, MAGIC, Instance, LengthField
from ..sources import SAVED_HEAD
from .builder import Builder
from .formulas import write_formula
from .hosting import MEMCPY
from .library import Library
from .refusals import refuse

_MEMSET = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
_WORD = 8


def field_addresses(b: Builder, i: Instance) -> list[str]:
    """The operands of the tensors of the instance, in order."""
    return [f"ptr {_inside(b, f'%{i.variable}', f.offset)}" for f in i.fields]


def length_addresses(b: Builder, i: Instance) -> dict[str, str]:
    """The addresses of the lengths of the instance, by name."""
    return {f.length.symbol.name: _inside(b, f"%{i.variable}", f.offset) for f in i.lengths}


def store_lengths(
    b: Builder, fields: Sequence[LengthField], addresses: Mapping[str, str], positions: Mapping[str, str], code: str
) -> None:
    """Stores the lengths after a step without an error.

    Args:
        addresses: those of the lengths, and `positions` of those that are no parameters.
        code: the error of the step.
    """
    if not fields:
        return
    store, end = b.fresh("store"), b.fresh("end")
    b.branch(b.value(f"icmp eq i32 {code}, 0"), store, end)
    b.start(store)
    values = [write_formula(b, f.length.next, positions) for f in fields]
    for f, value in zip(fields, values, strict=True):
        b.do(f"store i64 {value}, ptr {addresses[f.length.symbol.name]}")
    b.jump(end)
    b.start(end)


def define_functions(i: Instance, constant: Callable[[Slot, Builder], str], library: Library) -> list[str]:
    """`NAME_init` and `NAME_state`; `constant` gives the operand of a constant's address."""
    for declaration in (MEMCPY, _MEMSET):
        library.outside(declaration)
    return [*_digest(i), "", *_init(i, constant), "", *_state(i), ""]


def _inside(b: Builder, base: str, offset: int) -> str:
    return b.value(f"getelementptr inbounds i8, ptr {base}, i64 {offset}", "at") if offset else base


def _copy(b: Builder, target: str, source: str, size: int | str) -> None:
    b.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")


def _digest(i: Instance) -> list[str]:
    """The digest of the words of a struct; a last word that is not whole is filled with zeros."""
    b = Builder("bytes", "entry")
    place, word, result = b.slot("i64", "k"), b.slot("i64", "word", _WORD), b.slot("i64", "result")
    b.do(f"store i64 0, ptr {place}")
    b.do(f"store i64 0, ptr {result}")
    loop, body, end = b.fresh("loop"), b.fresh("body"), b.fresh("end")
    b.start(loop)
    k = b.value(f"load i64, ptr {place}")
    b.branch(b.value(f"icmp ult i64 {k}, {i.nbytes}"), body, end)
    b.start(body)
    left = b.value(f"sub i64 {i.nbytes}, {k}")
    size = b.value(f"select i1 {b.value(f'icmp ult i64 {left}, {_WORD}')}, i64 {left}, i64 {_WORD}")
    b.do(f"store i64 0, ptr {word}")
    _copy(b, word, b.value(f"getelementptr inbounds i8, ptr %bytes, i64 {k}"), size)
    mixed = b.value(f"xor i64 {b.value(f'load i64, ptr {result}')}, {b.value(f'load i64, ptr {word}')}")
    product = b.value(f"mul i64 {mixed}, {FACTOR}")
    high = b.value(f"lshr i64 {product}, 32")
    b.do(f"store i64 {b.value(f'xor i64 {product}, {high}')}, ptr {result}")
    b.do(f"store i64 {b.value(f'add i64 {k}, {_WORD}')}, ptr {place}")
    b.jump(loop)
    b.start(end)
    b.ret(f"i64 {b.value(f'load i64, ptr {result}')}")
    return b.text(f"define internal i64 @{i.name}_state_digest(ptr %bytes) nounwind")


def _init(i: Instance, constant: Callable[[Slot, Builder], str]) -> list[str]:
    b = Builder(i.variable, "entry")
    b.do(f"call void @llvm.memset.p0.i64(ptr %{i.variable}, i8 0, i64 {i.nbytes}, i1 false)")
    for f in i.fields:
        if f.state.first is not None:
            c = f.state.first.resolve()
            _copy(b, _inside(b, f"%{i.variable}", f.offset), constant(c, b), c.nbytes)
    b.ret("i32 0")
    return b.text(f"define i32 @{i.name}_init(ptr %{i.variable}) nounwind")


def _state(i: Instance) -> list[str]:
    """Saves to one address, then restores from another one, each if it is not null."""
    net = f"%{i.variable}"
    b = Builder(i.variable, "saved", "restored", "entry")
    save, next_ = b.fresh("save"), b.fresh("next")
    restore, end = b.fresh("restore"), b.fresh("end")
    b.branch(b.value("icmp eq ptr %saved, null"), next_, save)
    b.start(save)
    digest = b.value(f"call i64 @{i.name}_state_digest(ptr {net})")
    for n, value in enumerate((MAGIC, i.identity, i.nbytes, digest)):
        b.do(f"store i64 {value}, ptr {_inside(b, '%saved', n * _WORD)}, align 1")
    _copy(b, _inside(b, "%saved", SAVED_HEAD), net, i.nbytes)
    b.jump(next_)
    b.start(next_)
    b.branch(b.value("icmp eq ptr %restored, null"), end, restore)
    b.start(restore)
    contents = _inside(b, "%restored", SAVED_HEAD)
    digest = b.value(f"call i64 @{i.name}_state_digest(ptr {contents})")
    for n, value in enumerate((MAGIC, i.identity, i.nbytes, digest)):
        word = b.value(f"load i64, ptr {_inside(b, '%restored', n * _WORD)}, align 1")
        refuse(b, b.value(f"icmp ne i64 {word}, {value}"), OTHER_STATE_ERROR)
    _copy(b, net, contents, i.nbytes)
    b.jump(end)
    b.start(end)
    b.ret("i32 0")
    return b.text(f"define i32 @{i.name}_state(ptr {net}, ptr %saved, ptr %restored) nounwind")
