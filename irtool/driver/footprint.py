"""The parts of a network's flash and RAM, and the error for a network that does not fit into its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from ..diagnostics import Diagnostic, IrError
from .mistakes import DoesNotFit

_SHOWN = 3
"""The parts that a message names."""


class NetworkDoesNotFit(IrError):
    """A network with more code, constants or memory than its limits allow; `report` is the report of its build."""

    code = DoesNotFit

    def __init__(self, diagnostics: Sequence[Diagnostic], report: Mapping[str, Any]) -> None:
        super().__init__(diagnostics)
        self.report = report


def flash_rows(report: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    """The parts of the flash: kind, bytes and contents, the largest part of a kind first."""
    flash, of = report["footprint"]["flash"], {k["name"]: ", ".join(k["operators"]) for k in report["kernels"]}
    rows = [("constants", n, name) for name, n in _by_size(flash["constants"])]
    rows += [("code", n, f"{name}: {of.get(name, '')}") for name, n in _by_size(flash["code"])]
    rows += [("code", flash["other_code"], "entry functions, and functions of several kernels")]
    rows += [("constants", flash["other_constants"], "tables of the compiler")] if flash["other_constants"] else []
    rows += [("variables", flash["data"], "their first values")] if flash["data"] else []
    rows += [("library", flash["library"], "functions of the C library")] if flash["library"] else []
    return rows


def ram_rows(report: Mapping[str, Any]) -> list[tuple[str, int, str]]:
    """The parts of the RAM: kind, bytes and contents."""
    ram = report["footprint"]["ram"]
    rows = [("arena", ram["arena"], "intermediate results")] if ram["arena"] else []
    other = ram["static"] - ram["arena"] if ram["static"] >= ram["arena"] else ram["static"]
    rows += [("variables", other, "of the network and of the library")] if other else []
    rows += [("states", ram["states"], "an instance")] if ram["states"] else []
    for what in ("inputs", "outputs"):
        tensors = report[what]
        if tensors:
            names = ", ".join(f"{t['name']}: {t['dtype']}{t['shape']}" for t in tensors[:_SHOWN])
            rows.append((what, ram[what], names + (", …" if len(tensors) > _SHOWN else "")))
    chain = " > ".join(f"{name} {n}" for name, n in ram["stack_chain"])
    rows.append(("stack", ram["stack"], chain))
    return rows


def total(rows: Sequence[tuple[str, int, str]]) -> int:
    """The bytes of some rows."""
    return sum(n for _, n, _ in rows)


def check_footprint(report: Mapping[str, Any]) -> None:
    """Raises NetworkDoesNotFit if flash or RAM are more than the limits, with the difference, the parts that decide, and an option that may help."""
    if "footprint" not in report:
        return
    diagnostics = []
    where = f" of {report['board']['name']}" if "board" in report else ""
    for kind, rows, deciding, advice in (
        ("flash", flash_rows(report), _deciding_flash, _flash_advice),
        ("RAM", ram_rows(report), _deciding_ram, _ram_advice),
    ):
        limit, needed = report["footprint"][kind.lower()]["limit"], total(rows)
        if limit is not None and needed > limit:
            own = limit != report.get("board", {}).get(f"{kind.lower()}_bytes")
            allowed = f"{limit} that --{kind.lower()}-limit allows" if own else f"{limit}{where}"
            message = f"the network needs {needed} bytes of {kind}, {needed - limit} more than the {allowed}"
            diagnostics.append(Diagnostic(message, notes=tuple(deciding(report, rows)), help=advice(report, rows)))
    if diagnostics:
        raise NetworkDoesNotFit(diagnostics, report)


def _by_size(parts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(parts.items(), key=lambda item: (-item[1], item[0]))


def _deciding_flash(report: Mapping[str, Any], rows: Sequence[tuple[str, int, str]]) -> Iterator[str]:
    shapes = {c["name"]: f"{c['dtype']}{c['shape']}" for c in report["constants"]}
    kinds = {kind: sum(n for k, n, _ in rows if k == kind) for kind in dict.fromkeys(k for k, _, _ in rows)}
    yield ", ".join(f"{kind} {n}" for kind, n in _by_size(kinds))
    largest = sorted(rows, key=lambda row: -row[1])[:_SHOWN]
    yield "the largest parts: " + "; ".join(
        f"{n} bytes of {name} {shapes.get(name, '')}".rstrip() for _, n, name in largest
    )


def _deciding_ram(report: Mapping[str, Any], rows: Sequence[tuple[str, int, str]]) -> Iterator[str]:
    yield ", ".join(f"{kind} {n}" for kind, n, _ in rows)
    peak = _peak(report)
    if peak:
        step, buffers = peak
        names = "; ".join(f"{b['name']}: {b['dtype']}{b['shape']}, {b['bytes']} bytes" for b in buffers[:_SHOWN])
        yield f"most of the arena is in use in step {step}: {names}"


def _peak(report: Mapping[str, Any]) -> tuple[int, list[Mapping[str, Any]]] | None:
    """The step with most bytes in use, and its buffers, the largest first."""
    buffers = report["buffers"]
    if not buffers:
        return None
    step, _ = busiest_step(buffers)
    live = [b for b in buffers if b["first_step"] <= step <= b["last_step"]]
    return step, sorted(live, key=lambda b: -b["bytes"])


def busiest_step(buffers: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """The first step with most bytes in use, and these bytes, for the buffers of a build report, one at least."""
    changes = [0] * (max(b["last_step"] for b in buffers) + 2)
    for b in buffers:
        changes[b["first_step"]] += b["bytes"]
        changes[b["last_step"] + 1] -= b["bytes"]
    in_use = list(accumulate(changes[:-1]))
    most = max(in_use)
    return in_use.index(most), most


def _flash_advice(report: Mapping[str, Any], rows: Sequence[tuple[str, int, str]]) -> str:
    constants = sum(n for kind, n, _ in rows if kind == "constants")
    code = sum(n for kind, n, _ in rows if kind == "code")
    if report["stored_weight_bytes"] > report["plain_weight_bytes"]:
        plain = report["stored_weight_bytes"] - report["plain_weight_bytes"]
        return f"--opt=size stores weights as they are: {plain} bytes less"
    if constants > code:
        floats = sum(c["bytes"] for c in report["constants"] if c["dtype"] == "float32")
        if floats > constants // 2:
            return f"irtool quantize makes weights of 8 bits: about {3 * floats // 4} bytes less"
        return ""
    return "--cflags=-Os makes code smaller, and slower"


def _ram_advice(report: Mapping[str, Any], rows: Sequence[tuple[str, int, str]]) -> str:
    peak = _peak(report)
    parts = {kind: n for kind, n, _ in rows}
    if parts["stack"] > parts.get("arena", 0):
        return "--target='c{stack_bytes=1024}' sets a bound, above which arrays of kernels lie in the arena"
    if peak is not None and any(b["dtype"] == "float32" for b in peak[1][:1]):
        return "irtool quantize makes tensors of 8 bits, a quarter of the arena"
    return ""
