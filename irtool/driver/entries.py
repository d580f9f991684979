"""Entry functions as plain data: everything needed to call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..symbolic_int import LARGEST, Atom, Minimum, Quotient, Symbol, SymbolicInt
from ..tir.program import PARAM, RESULT, STATE, HostFunction, Slot, State, StateLength
from ..tir.region import Layout, lay_out
from ..tir.symbols import symbols_of_step
from ..tir.values import Alternative, EntryValues, ValueType


def describe_entry(f: HostFunction) -> dict[str, Any]:
    """Names, shapes, dtypes and structures of an entry's parameters and results, as JSON can hold them."""
    symbols = symbols_of_step(f)
    return {
        "name": f.name,
        **({"lengths": [_describe_symbol(s) for s in symbols]} if symbols else {}),
        **({"lengths_of_values": [[s.name, s.low, s.high] for s in f.lengths]} if f.lengths else {}),
        **({"extents_of": list(f.extents_of)} if f.extents_of else {}),
        "params": [[s.name, [_describe(d) for d in s.shape], s.dtype] for s in f.params],
        "results": [[s.name, [_describe(d) for d in s.shape], s.dtype] for s in f.results],
        **({"states": [_describe_state(s) for s in f.states]} if f.states else {}),
        **(
            {"state_lengths": [[x.symbol.name, _describe(x.next), x.capacity] for x in f.state_lengths]}
            if f.state_lengths
            else {}
        ),
        **({"values": _describe_values(f)} if f.values is not None else {}),
        **({"declared": [[_describe(d) for d in shape] for shape in f.declared]} if f.declared else {}),
        "structure": f.structure,
        "param_names": f.param_names,
        "param_structures": f.param_structures,
        "model_inputs": f.model_inputs,
        "model_outputs": list(f.model_outputs),
    }


def read_entry(about: Mapping[str, Any]) -> HostFunction:
    """A callable function from the result of `describe_entry`. Raises KeyError, TypeError or ValueError for anything else."""
    lengths, of_values = (
        [_read_symbol(*row) for row in about.get(key, ())] for key in ("lengths", "lengths_of_values")
    )
    symbols = {s.name: s for s in (*lengths, *of_values)}

    def read_shape(shape: Any) -> tuple[int, ...]:
        return tuple(_read(d, symbols) for d in shape)

    params = [Slot(n, read_shape(shape), dtype, PARAM) for n, shape, dtype in about["params"]]
    results = [Slot(n, read_shape(shape), dtype, RESULT) for n, shape, dtype in about["results"]]
    values = _read_values(about["values"], [*params, *results]) if "values" in about else None
    return HostFunction(
        about["name"],
        params,
        results,
        [],
        about["structure"],
        param_names=list(about["param_names"]),
        param_structures=list(about["param_structures"]),
        declared=[read_shape(shape) for shape in about.get("declared", ())],
        model_inputs=dict(about.get("model_inputs", {})),
        model_outputs=list(about.get("model_outputs", [])),
        states=[_read_state(s, read_shape) for s in about.get("states", ())],
        state_lengths=[
            StateLength(symbols[name], _read(after, symbols), int(capacity))
            for name, after, capacity in about.get("state_lengths", ())
        ],
        lengths=tuple(of_values),
        extents_of=tuple(map(int, about.get("extents_of", ()))),
        values=values,
    )


def _describe_symbol(s: Symbol) -> list[Any]:
    """The name, the bounds (None for no upper one), the step unless it is 1, and the values if there are few."""
    return [
        s.name,
        s.low,
        s.high if s.is_bounded else None,
        *([s.step] if s.step > 1 or s.choices else []),
        *([list(s.choices)] if s.choices else []),
    ]


def _read_symbol(name: str, low: int, high: int | None, step: int = 1, choices: Sequence[int] = ()) -> Symbol:
    most = LARGEST // int(step) * int(step) if high is None else int(high)
    return Symbol(name, int(low), most, int(step), tuple(map(int, choices)), high is not None)


def _describe_values(f: HostFunction) -> dict[str, Any]:
    """The types of an entry's handles, and the number of each parameter's and result's."""
    assert f.values is not None
    types = [
        [
            t.text,
            t.data,
            [[a.layout.name, a.layout.number, _fields(a), a.forms, list(a.targets)] for a in t.alternatives],
        ]
        for t in f.values.types
    ]
    return {"types": types, "handles": [f.values.numbers.get(s, -1) for s in (*f.params, *f.results)]}


def _fields(a: Alternative) -> list[Any]:
    return [[list(field.shape), field.dtype] for field in a.layout.fields]


def _read_values(about: Any, slots: Sequence[Slot]) -> EntryValues:
    types = []
    for text, data, alternatives in about["types"]:
        cases = []
        for tag, (name, number, fields, forms, targets) in enumerate(alternatives):
            laid_out = lay_out([(tuple(map(int, shape)), str(dtype)) for shape, dtype in fields])
            layout = Layout(tag, str(name), laid_out, int(number))
            cases.append(Alternative(layout, tuple(forms), tuple(map(int, targets))))
        types.append(ValueType(str(text), str(data), tuple(cases)))
    return EntryValues(types, {s: int(n) for s, n in zip(slots, about["handles"], strict=True) if n >= 0})


def _describe_state(s: State) -> list[Any]:
    return [s.name, s.output, [_describe(d) for d in s.slot.shape], s.slot.dtype, s.is_copied]


def _read_state(about: Any, read_shape: Callable[[Any], tuple[int, ...]]) -> State:
    name, output, shape, dtype, is_copied = about
    slot = Slot(name, read_shape(shape), dtype, STATE)
    return State(name, output, slot, slot, is_copied=bool(is_copied))


def _describe(extent: int) -> Any:
    """A number, or the terms of a formula: each a coefficient and its factors, names of lengths, a dividend and a divisor, or two extents of
    which the smaller one counts, and a word."""
    if not isinstance(extent, SymbolicInt):
        return extent
    return [[k, [_describe_atom(a) for a in m]] for m, k in extent.terms.items()]


def _describe_atom(atom: Atom) -> Any:
    if isinstance(atom, Symbol):
        return atom.name
    if isinstance(atom, Minimum):
        return [_describe(atom.first), _describe(atom.second), "minimum"]
    return [_describe(atom.dividend), _describe(atom.divisor)]


def _read(about: Any, symbols: Mapping[str, Symbol]) -> int:
    """The extent from the result of `_describe`."""
    if isinstance(about, int):
        return about
    terms = {}
    for k, factors in about:
        terms[tuple(_read_atom(a, symbols) for a in factors)] = int(k)
    return SymbolicInt(terms)


def _read_atom(about: Any, symbols: Mapping[str, Symbol]) -> Atom:
    if isinstance(about, str):
        return symbols[about]
    a, b, *word = about
    return (Minimum if word else Quotient)(_read(a, symbols), _read(b, symbols))
