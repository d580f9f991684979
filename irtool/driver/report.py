"""The build report: names and figures of the build, as a dict for JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..backends.base import EntryPoint, Sources, entry_points
from ..post_order import in_post_order
from ..symbolic_int import Symbol, SymbolicInt, at_typical, is_known, nominal, symbols_of
from ..tir import dtypes
from ..tir.conditions import LengthIs
from ..tir.kernel import StageChoice
from ..tir.pools import locate, pool_record
from ..tir.program import (
    Branch,
    CallFunction,
    HostFunction,
    Program,
    Recomputed,
    RunKernel,
    Slot,
    calls,
    node_names,
    runs_of,
    steps,
)
from ..tir.stack import stack_bytes
from ..tir.symbols import symbols_of_entries
from ..tir.value_notes import noted_lengths, origins_of_lengths
from .enlarged_weights import plain_weight_bytes
from .lifetimes import has_lengths, live_buffers, peak_of


def make_report(program: Program, name: str, sources: Sources | None = None) -> dict[str, Any]:
    """The report of a scheduled program with planned memory; `sources` is empty for a program that no backend has written.

    Sizes are in bytes. `macs`: products that are summed up, in one run of each step (both arms of a branch counted,
    and one iteration of a loop; of functions for different lengths, the one with most).
    """
    functions = list(program.functions.values())
    runs = {n: [s for s in steps(f.body) if isinstance(s, RunKernel)] for n, f in program.functions.items()}
    counts = Counter(r.kernel for rs in runs.values() for r in rs)
    uses = runs_of(program)
    nodes = {k: node_names(rs) for k, rs in uses.items()}
    written = sources or Sources({}, entry_points(program), program.arena_bytes)
    entry = written.entries[0]
    return {
        "name": name,
        "arena_bytes": at_typical(written.arena_bytes),
        **_arena_formula(written),
        "arena_lower_bound": program.live_bytes,
        "workspace_pools": _pools(program),
        "stack_bytes": stack_bytes(program),
        "in_region": program.uses_region,
        "weight_bytes": sum(c.nbytes for c in program.constants),
        "plain_weight_bytes": plain_weight_bytes(program),
        "macs": _macs(program, runs),
        "inputs": _inputs(entry),
        "outputs": _outputs(entry),
        "entries": {
            e.function.name: {
                "run": e.run,
                "run_with": e.run_with,
                "inputs": _inputs(e),
                "outputs": _outputs(e),
                "frame_bytes": at_typical(e.function.frame_bytes),
                **({"arena_size": e.arena_size} if e.arena_size else {}),
            }
            for e in written.entries
        },
        **_value_lengths(program),
        "identifiers": dict(written.identifiers),
        "kernels": [
            {
                "name": k.name,
                "c_name": written.kernel_names.get(k.name, k.name),
                "operators": list(k.operators),
                "nodes": nodes.get(k, []),
                "places": list(dict.fromkeys(str(p) for use in uses.get(k, ()) for p in use.places if p.at)),
                "strategy": k.choice.strategy,
                "reason": k.choice.reason,
                "stages": [_stage_report(s) for s in k.choice.stages],
                "macs": _number(k.macs),
                "calls": counts[k],
                "workspace_bytes": at_typical(k.workspace),
            }
            for k in program.kernels
        ],
        "buffers": [b for f in functions for b in _buffers(program, f)],
        **_peaks(program),
        "recomputed": [_recomputed(r) for f in functions for r in f.recomputed],
        **_lengths(program),
        **_states(entry),
        "constants": [
            {"name": c.name, "dtype": c.dtype, "shape": list(c.shape), "bytes": c.nbytes} for c in program.constants
        ],
    }


def _arena_formula(written: Sources) -> dict[str, Any]:
    """The workspace as a formula of the lengths, if nothing bounds some of them; other sizes are those at usual lengths then."""
    return {} if is_known(written.arena_bytes) else {"arena_formula": str(written.arena_bytes)}


def _recomputed(r: Recomputed) -> dict[str, Any]:
    """A value that is computed again."""
    return {
        "value": r.value,
        "bytes": r.size,
        "kernel": r.kernel.name,
        "operators": list(r.kernel.operators),
        "operands": list(r.operands),
        "macs": r.macs,
    }


def _number(size: int) -> int:
    """A size at the upper bounds of lengths, and at usual lengths without bounds."""
    return nominal(size)


def _macs(program: Program, runs: Mapping[str, Sequence[RunKernel]]) -> int:
    total = _number(sum(r.kernel.macs for rs in runs.values() for r in rs))
    below: dict[type, Any] = {str: lambda name: tuple(calls(program.functions[name]))}
    for f in program.functions.values():
        chosen = [s for s in steps(f.body) if isinstance(s, Branch) and isinstance(s.cond, LengthIs)]
        cases = dict.fromkeys(s.function for s in steps(chosen) if isinstance(s, CallFunction))
        sums = [_number(sum(r.kernel.macs for n in in_post_order(below, [c]) for r in runs[n])) for c in cases]
        total -= sum(sums) - max(sums, default=0)
    return total


def _lengths(program: Program) -> dict[str, Any]:
    """The lengths that a run decides, with their bounds, and the questions about them for which stages left kernels unchanged; sizes and
    products are those at the upper bounds."""
    symbols = symbols_of_entries(program)
    if not symbols and not program.questions:
        return {}
    return {"lengths": [_about(s) for s in symbols], "open_questions": [asdict(q) for q in program.questions]}


def _about(symbol: Symbol) -> dict[str, Any]:
    step = {"step": symbol.step} if symbol.step > 1 else {}
    choices = {"choices": list(symbol.choices)} if symbol.choices else {}
    high = {"high": symbol.high} if symbol.is_bounded else {"usual": symbol.typical}
    return {"name": symbol.name, "low": symbol.low, **high, **step, **choices}


def _states(entry: EntryPoint) -> dict[str, Any]:
    """The tensors that an instance keeps, and the bytes of an instance and of a saved one."""
    if not entry.function.states:
        return {}
    instance = entry.instance
    offsets = instance.offsets if instance is not None else [None] * len(entry.function.states)
    states = [
        {
            "name": s.name,
            "output": s.output,
            "shape": _shape(s.slot.shape),
            "dtype": s.slot.dtype,
            "bytes": entry.function.elements_of(s) * dtypes.itemsize(s.slot.dtype),
            "copied": s.is_copied,
            "offset": offset,
        }
        for s, offset in zip(entry.function.states, offsets, strict=True)
    ]
    return {
        "states": states,
        "instance_bytes": instance.nbytes if instance is not None else sum(s["bytes"] for s in states),
        "saved_bytes": instance.saved_bytes if instance is not None else 0,
        **_state_lengths(entry),
    }


def _state_lengths(entry: EntryPoint) -> dict[str, Any]:
    """The lengths that an instance keeps, the first words of it, of 64 bits."""
    lengths = entry.function.state_lengths
    if not lengths:
        return {}
    about = [{"name": x.symbol.name, "next": str(x.next), "capacity": x.capacity} for x in lengths]
    return {"state_lengths": about, **({"rewinds": True} if entry.function.position is not None else {})}


def _stage_report(stage: StageChoice) -> dict[str, Any]:
    """The schedule of a stage in lists, as JSON gives it back, so that a build from the cache has an equal report."""
    return {
        **asdict(stage),
        "primitives": list(stage.primitives),
        "estimates": [list(estimate) for estimate in stage.estimates],
    }


def _value_lengths(program: Program) -> dict[str, Any]:
    """The extents that values decide, in the order of the notes that runs leave of them; nothing where runs leave none."""
    noted, origins = noted_lengths(program), origins_of_lengths(program)
    rows = [{"name": s.name, "low": s.low, "high": s.high, "origin": origins.get(s, "")} for s in noted]
    return {"value_lengths": rows} if rows else {}


def _pools(program: Program) -> list[dict[str, Any]]:
    """The pools of the workspace, with the bytes that a run of any entry takes of each; empty for a workspace in one piece."""
    entries = [program.functions[n] for n in program.entry_names]
    return [pool_record(p, max(f.pool_bytes[n] for f in entries)) for n, p in enumerate(program.pools)]


def _in_pool(buffer: dict[str, Any], function: HostFunction, program: Program) -> dict[str, Any]:
    """The buffer with its pool, and the offset in there, where the frame of its function lies in pools."""
    if not function.in_pools:
        return buffer
    pool, offset = locate(buffer["offset"], function.pool_bytes)
    return {**buffer, "pool": program.pools[pool].name, "offset": offset}


def _inputs(entry: EntryPoint) -> list[dict[str, Any]]:
    """The tensors that go in, by their names in the model where these are known."""
    in_model = {parameter: name for name, parameter in entry.function.model_inputs.items()}
    return [_tensor(p.slot, in_model.get(p.slot.name, p.slot.name), p.name) for p in entry.inputs]


def _outputs(entry: EntryPoint) -> list[dict[str, Any]]:
    """The tensors that come out, by their names in the model where these are known."""
    of_model = entry.function.model_result
    return [_tensor(p.slot, of_model(n) or p.slot.name, p.name) for n, p in enumerate(entry.outputs)]


def _tensor(slot: Slot, name: str, c_name: str) -> dict[str, Any]:
    return {
        "name": name,
        "c_name": c_name,
        "shape": _shape(slot.shape),
        "dtype": slot.dtype,
        "bytes": _number(slot.nbytes),
    }


def _shape(extents: Iterable[int]) -> list[int | str]:
    """Extents for JSON: formulas of lengths that a run decides as text."""
    return [str(d) if isinstance(d, SymbolicInt) else d for d in extents]


def _buffers(program: Program, function: HostFunction) -> Iterator[dict[str, Any]]:
    """The buffers of the frame of a function."""
    for b in live_buffers(function.body):
        record = {
            "function": function.name,
            "name": b.name,
            "dtype": b.dtype,
            "shape": _shape(b.shape),
            "offset": at_typical(b.offset),
            "bytes": b.nbytes,
            "first_step": b.first,
            "last_step": b.last,
        }
        yield _in_pool(record, function, program)


def _peaks(program: Program) -> dict[str, Any]:
    """For each function whose buffers have lengths in their sizes: the most bytes in use as a formula, and the buffer that has most of it."""
    peaks = {}
    for f in program.functions.values():
        buffers = live_buffers(f.body)
        peak = peak_of(buffers) if has_lengths(buffers) else None
        if peak is not None:
            peaks[f.name] = {
                "step": peak.step,
                "bytes": peak.nbytes,
                "formula": peak.text,
                "lengths": [s.name for s in symbols_of(peak.formulas[:1])],
                "buffer": peak.largest.name,
                "buffer_shape": _shape(peak.largest.shape),
                "buffer_bytes": peak.largest.nbytes,
            }
    return {"peaks": peaks} if peaks else {}
