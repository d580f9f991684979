"""Sums of products of bytes of every pair of signs, by instructions that take some pairs only.

A signedness shift, an exclusive or of each byte's highest bit, adapts an operand of another sign, and the sum is corrected for
it:

    a * b = (a + 128) * b - 128 * b        for signed a and an instruction that takes unsigned numbers there
    a * b = (a - 128) * b + 128 * b        for unsigned a and one that takes signed numbers

128 fits into an unsigned byte: the same instruction multiplies by it. It does not fit into a signed byte; there the sum of the
other operand's bytes is shifted left. The second operand is usually the one that several sums share: compilers compute its
subexpressions once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from string import Template

from ...tir.int8_dot import DOTS
from .row import Form

Pair = tuple[str, str]

_NATIVE = """
  ${call}
  return acc;
"""
_DOWN = """
  $$t rest = {0}, moved = ($$t)(($$u)$x ^ 0x80808080u), all = ($$t)(0x80808080u - ($$u){0});
  ${call}
  ${correct}
  return ($$t)(($$u)acc - ($$u)rest);
"""
_UP = """
  $$t rest = {0}, moved = ($$t)(($$u)$x ^ 0x80808080u), ones = ($$t)(0x01010101u - ($$u){0});
  ${call}
  ${correct}
  return ($$t)(($$u)acc + (($$u)rest << 7));
"""
_NATIVE_IR = """
  ${call}
  ret $$t %sum
"""
_DOWN_IR = """
${opaque}
  %moved = xor $$t %$operand, $$splat_80808080
  ${call}
  ${correct}
  %all = sub $$t %sum, %rest
  ret $$t %all
"""
_UP_IR = """
${opaque}
  %moved = xor $$t %$operand, $$splat_80808080
  ${call}
  ${correct}
  %scaled = shl $$t %rest, $$splat_7
  %all = add $$t %sum, %scaled
  ret $$t %all
"""


def byte_forms(
    instructions: Mapping[Pair, str],
    call: str,
    llvm: str,
    *,
    opened: str = "",
    closed: str = "",
    corrected: bool = True,
    opaque: str = "",
) -> tuple[Form, ...]:
    """The sums of four products of bytes of each pair of signs.

    Args:
        instructions: the names of instructions by the dtypes of the numbers that they take.
        call: the statement in C by which `$op` adds the products of `$a` and `$b` to the variable `$acc`.
        llvm: the same in LLVM IR, which makes `%$out`.
        opened, closed: lines in C before and behind each body.
        corrected: with forms for pairs of signs that no instruction takes.
        opaque: LLVM's constraint for the registers of operands that are opaque to the optimizer before they are shifted; empty for none.
    """
    forms: list[Form] = []
    for function, pair in DOTS.items():
        taken, order = (pair, "ab") if pair in instructions else (pair[::-1], "ba")
        if taken in instructions:
            form = _native(function, instructions[taken], order, call, llvm)
        elif corrected:
            taken = next(p for p in instructions if (p[0] == pair[0]) != (p[1] == pair[1]))
            form = _moved(function, pair, taken, instructions[taken], call, llvm, opaque)
        else:
            continue
        forms.append(replace(form, c=f"{opened}{form.c}{closed}"))
    return tuple(forms)


def _native(function: str, op: str, order: str, call: str, llvm: str) -> Form:
    a, b = order[0], order[1]
    c = _filled(_NATIVE, call=_filled(call, op=op, acc="acc", a=a, b=b))
    ir = _filled(llvm, op=op, out="sum", acc="%acc", a=f"%{a}", b=f"%{b}")
    return Form(function, 1, c, _filled(_NATIVE_IR, call=ir))


def _moved(function: str, pair: Pair, taken: Pair, op: str, call: str, llvm: str, opaque: str) -> Form:
    """The form with one operand shifted to the sign that the instruction takes."""
    n = 0 if pair[0] != taken[0] else 1
    down = taken[n] == "uint8"  # numbers are larger by 128, and the correction is subtracted
    x, name, number = "ab"[n], "all" if down else "ones", "80808080" if down else "01010101"
    sums = ["moved" if k == n else v for k, v in enumerate("ab")]
    rest = [name if k == n else v for k, v in enumerate("ab")]
    c = _filled(
        _DOWN if down else _UP,
        x=x,
        call=_filled(call, op=op, acc="acc", a=sums[0], b=sums[1]),
        correct=_filled(call, op=op, acc="rest", a=rest[0], b=rest[1]),
    )
    factors = [f"$splat_{number}" if v == name else f"%{v}" for v in rest]
    ir = _filled(
        _DOWN_IR if down else _UP_IR,
        opaque=f'  %same = call $t asm "", "={opaque},0"($t %{x})' if opaque else "",
        operand="same" if opaque else x,
        call=_filled(llvm, op=op, out="sum", acc="%acc", a=f"%{sums[0]}", b=f"%{sums[1]}"),
        correct=_filled(llvm, op=op, out="rest", acc="zeroinitializer", a=factors[0], b=factors[1]),
    )
    return Form(function, 2, c, ir, moved_to=taken[n])


def _filled(text: str, **values: str) -> str:
    """The text with these values; `$$word` stays open as `$word`."""
    return Template(text).substitute(values)
