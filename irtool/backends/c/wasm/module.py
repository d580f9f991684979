"""The ES module that calls a network, and its types for TypeScript."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ....symbolic_int import SymbolicInt, bound, symbol_of
from ....tir import dtypes
from ...interface.comment import inside
from ...interface.entry import EntryPoint, Parameter
from ...library import ERRORS
from .runtime import fill_runtime
from .sections import WEIGHTS

ARRAYS = {
    "float16": "Uint16Array",
    "bfloat16": "Uint16Array",
    "float32": "Float32Array",
    "float64": "Float64Array",
    "int8": "Int8Array",
    "uint8": "Uint8Array",
    "bool": "Uint8Array",
    "int16": "Int16Array",
    "uint16": "Uint16Array",
    "int32": "Int32Array",
    "uint32": "Uint32Array",
    "int64": "BigInt64Array",
    "uint64": "BigUint64Array",
}
"""JavaScript's arrays by dtype, as `runtime/module.mjs` has them."""


@dataclass(frozen=True)
class ModuleFacts:
    """The facts of a network's ES module.

    Attributes:
        name: the network's.
        banner: the lines of the comment at its beginning.
        entries: the entry points, the first one is `run`.
        arena_bytes: workspace of one run, with room for its alignment.
        levels: the processors that there are modules for, the highest first, each with its file.
        weights_bytes: of the weights file; 0 without one.
        weights_file: the file that is fetched; empty if each module contains it.
    """

    name: str
    banner: Sequence[str]
    entries: Sequence[EntryPoint]
    arena_bytes: int
    levels: Sequence[tuple[str, str]]
    weights_bytes: int = 0
    weights_file: str = ""


def write_module(facts: ModuleFacts) -> str:
    """The text of `NAME.mjs`."""
    methods = []
    for key in entry_keys(facts):
        call = f"this.#run(NETWORK.entries[{json.dumps(key)}], inputs, lengths)"
        methods.append(f"  {key}(inputs, lengths) {{\n    return {call};\n  }}\n")
    if facts.entries[0].instance is not None:
        methods.append(_STATES)
    words = {
        "BANNER": _comment(facts),
        "NETWORK": _network(facts),
        "ERRORS": json.dumps({str(code): message for code, message in ERRORS.items()}, indent=2),
        "METHODS": "\n".join(methods),
    }
    return fill_runtime("module.mjs", words)


_STATES = """\
  /** Gives the states their first values. */
  reset() {
    this.#check(this.#exports[NETWORK.instance.init](this.#instance));
  }

  /** The states, as bytes for `restore`. */
  save() {
    const { saved, state } = NETWORK.instance;
    this.#reserve(saved);
    this.#check(this.#exports[state](this.#instance, this.#base, 0));
    return new Uint8Array(this.#exports.memory.buffer, this.#base, saved).slice();
  }

  /** Takes the states from bytes that `save` gave; other bytes change nothing. */
  restore(bytes) {
    const { saved, state } = NETWORK.instance;
    if (!(bytes instanceof Uint8Array) || bytes.length !== saved)
      throw new NetworkError(`saved states are a Uint8Array of ${saved} bytes, not ${kindOf(bytes)}`);
    this.#reserve(saved);
    new Uint8Array(this.#exports.memory.buffer, this.#base, saved).set(bytes);
    this.#check(this.#exports[state](this.#instance, 0, this.#base));
  }
"""


def write_types(facts: ModuleFacts) -> str:
    """The text of `NAME.d.ts`."""
    types, methods = [], []
    for key, entry in zip(entry_keys(facts), facts.entries, strict=True):
        suffix = "" if key == "run" else key.removeprefix("run")
        for title, parameters in (("Inputs", entry.inputs), ("Outputs", _results(entry))):
            lines = [f"  {p.name}: {_typescript(p, entry)}; // {_text(p)}" for p in parameters]
            types.append("\n".join([f"export interface {title}{suffix} {{", *lines, "}"]))
        order = ", ".join(f"{p.name}: Inputs{suffix}[{json.dumps(p.name)}]" for p in entry.inputs)
        lengths = ", lengths?: Record<string, number | bigint>" if entry.symbols else ""
        methods.append(f"  {key}(inputs: Inputs{suffix} | [{order}]{lengths}): Outputs{suffix};")
    if facts.entries[0].instance is not None:
        methods += ["  reset(): void;", "  save(): Uint8Array;", "  restore(bytes: Uint8Array): void;"]
    return fill_runtime(
        "module.d.ts", {"BANNER": _comment(facts), "TYPES": "\n\n".join(types), "METHODS": "\n".join(methods)}
    )


def entry_keys(facts: ModuleFacts) -> list[str]:
    """The methods of the entries: `run`, and `run_encode` for another one, `@encode`."""
    return ["run", *(e.run.removeprefix(f"{facts.name}_") for e in facts.entries[1:])]


def _comment(facts: ModuleFacts) -> str:
    return "\n".join(f" * {inside(line)}".rstrip() for line in facts.banner)


def _network(facts: ModuleFacts) -> str:
    """The object that describes the network, in JavaScript."""
    first = facts.entries[0]
    entries = [f"    {json.dumps(k)}: {_entry(e, facts)}," for k, e in zip(entry_keys(facts), facts.entries)]
    lines = [
        "{",
        f"  name: {json.dumps(facts.name)},",
        f"  levels: {json.dumps([list(x) for x in facts.levels])},",
        f"  weights: {_weights(facts)},",
        f"  instance: {_instance(first, facts)},",
        "  entries: {",
        *entries,
        "  },",
        "}",
    ]
    return "\n".join(lines)


def _weights(facts: ModuleFacts) -> str:
    if not facts.weights_bytes:
        return "null"
    record = {
        "size": facts.weights_bytes,
        "set": f"{facts.name}_set_weights",
        "section": WEIGHTS,
        "file": facts.weights_file or None,
    }
    return json.dumps(record)


def _instance(entry: EntryPoint, facts: ModuleFacts) -> str:
    if entry.instance is None:
        return "null"
    record = {
        "bytes": entry.instance.nbytes,
        "saved": entry.instance.saved_bytes,
        "init": f"{facts.name}_init",
        "state": f"{facts.name}_state",
        "positions": [{"name": f.length.symbol.name, "offset": f.offset} for f in entry.positions],
    }
    return json.dumps(record)


def _entry(entry: EntryPoint, facts: ModuleFacts) -> str:
    names = [s.name for s in entry.symbols]
    needs_lengths = bool(names) or bool(entry.positions)
    shown = len(_results(entry))
    first = len(entry.outputs) - len(entry.function.extents_of)
    extents = {n: first + k for k, n in enumerate(entry.function.extents_of)}
    outputs = [_tensor(p, extents.get(n), n < shown) for n, p in enumerate(entry.outputs)]
    lines = [
        "{",
        f"      symbol: {json.dumps(entry.run_with)},",
        f"      arena: {0 if entry.arena_size else facts.arena_bytes},",
        f"      arenaSize: {json.dumps(entry.arena_size or None)},",
        f"      isStep: {json.dumps(entry.instance is not None)},",
        f"      lengths: {json.dumps(names) if needs_lengths else 'null'},",
        "      inputs: [",
        *(f"        {_tensor(p)}," for p in entry.inputs),
        "      ],",
        "      outputs: [",
        *(f"        {text}," for text in outputs),
        "      ],",
        "    }",
    ]
    return "\n".join(lines)


def _tensor(p: Parameter, extents: int | None = None, is_shown: bool = True) -> str:
    """The description of a tensor; `extents`: the number of the output with its extents, if values decide them."""
    shape: Sequence[int] = (bound(p.slot.size),) if extents is not None else p.slot.shape
    is_open = any(isinstance(d, SymbolicInt) for d in shape)
    text = [str(d) if isinstance(d, SymbolicInt) else d for d in p.slot.shape]
    fields = [f"name: {json.dumps(p.name)}", f'dtype: "{p.slot.dtype}"', f"text: {json.dumps(text)}"]
    if is_open:
        symbols = [symbol_of(d) if isinstance(d, SymbolicInt) else None for d in shape]
        fields.append(f"names: {json.dumps([s.name if s is not None else None for s in symbols])}")
        fields.append(f"shape: (l) => [{', '.join(map(_extent, shape))}]")
    else:
        fields.append(f"shape: {json.dumps([int(d) for d in shape])}")
    if extents is not None:
        fields.append(f"extents: {extents}")
    if not is_shown:
        fields.append("shown: false")
    return f"{{ {', '.join(fields)} }}"


def _extent(extent: int) -> str:
    """An extent as a BigInt of the lengths `l`; the text of a formula is that of C."""
    return re.sub(r"[A-Za-z_]\w*|\b\d+\b", lambda m: f"{m[0]}n" if m[0].isdigit() else f"l.{m[0]}", str(extent))


def _results(entry: EntryPoint) -> Sequence[Parameter]:
    """The outputs but for the extents of others."""
    return entry.outputs[: len(entry.outputs) - len(entry.function.extents_of)]


def _typescript(p: Parameter, entry: EntryPoint) -> str:
    array = ARRAYS[p.slot.dtype]
    is_open = any(isinstance(d, SymbolicInt) for d in p.slot.shape)
    if p in entry.inputs:
        return f"{array} | Tensor<{array}>"
    number = entry.outputs.index(p)
    return f"Tensor<{array}>" if is_open or number in entry.function.extents_of else array


def _text(p: Parameter) -> str:
    return f"{p.slot.dtype}[{', '.join(map(str, p.slot.shape))}]"


def tensor_bytes(entry: EntryPoint) -> int:
    """The bytes of an entry's tensors, of those whose extents a run decides at their bounds."""
    return sum(bound(p.slot.size) * dtypes.itemsize(p.slot.dtype) for p in entry.tensors)
