"""Functions computed by one instruction, from the LLVM IR of its row."""

from __future__ import annotations

import re
from string import Template

from ..instructions.row import Form, Row
from .small_c.types import Type


def define_by_instruction(
    symbol: str, row: Row, form: Form, lanes: int, result: Type, operand: Type
) -> tuple[list[str], list[str]]:
    """The definition of a function `acc + dot(a, b)`, and the declarations of its callees.

    Args:
        result, operand: the types of `acc`, and of `a` and `b`.
    """
    values = {
        "t": str(result),
        "operand": str(operand),
        "pairs": f"<{2 * lanes} x i16>",
        "bytes": f"<{4 * lanes} x i8>",
        **row.words.get(lanes, {}),
    }
    body = _numbers(form.llvm, lanes)
    head = f"define internal $t @{symbol}($t %acc, $operand %a, $operand %b) alwaysinline nounwind {{"
    lines = Template("\n".join([head, *filter(None, body.splitlines()), "}"])).substitute(values).splitlines()
    declared = [d for d in Template(row.declares).substitute(values).splitlines() if d]
    called = set(re.findall(r"@([\w.]+)\(", "\n".join(lines[1:])))
    return lines, [d for d in declared if re.findall(r"@([\w.]+)\(", d)[0] in called]


def _numbers(text: str, lanes: int) -> str:
    """The text with vectors of equal numbers: `$splat_N` in lanes of 32 bits, `$short_N` in those of 16, N in hexadecimal."""

    def vector(match: re.Match[str]) -> str:
        element, count = ("i32", lanes) if match[1] == "splat" else ("i16", 2 * lanes)
        return f"<{', '.join([f'{element} {int(match[2], 16)}'] * count)}>"

    return re.sub(r"\$(splat|short)_([0-9a-f]+)", vector, text)
