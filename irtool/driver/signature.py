"""The arguments and results of an entry of a build, as arrays in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

from ..ir import ANY, GlobalTypeVar, TensorType, TupleType, Var
from ..ir.conversion import dtype_name
from ..ir.inputs import check_inputs
from ..ir.types import rewrite_type
from ..ir.values import value_leaves
from ..symbolic_int import SymbolicInt, bound
from ..tir.dtypes import HANDLE
from ..tir.program import HostFunction, Slot
from ..tir.symbols import symbols_of_function, symbols_of_step
from ..trampoline import trampoline
from .lengths import Lengths
from .nested import BITS, as_dtype, flat, nested
from .new_arrays import new_arrays
from .value_memory import ValueMemory


class Signature:
    """The tensors of one entry, worked out once: a small network runs for less time than a check of its inputs takes.

    Attributes:
        stored: shape and dtype in memory of each tensor of the result; a vector of the most elements where values decide the shape.
    """

    def __init__(self, entry: str, function: HostFunction) -> None:
        import numpy as np

        self._entry = entry
        self._params = _parameters(function)
        self._structure = function.structure
        self._dtypes = [s.dtype for s in function.results]
        first = len(function.results) - len(function.extents_of)
        self._shape_of = {n: first + k for k, n in enumerate(function.extents_of)}
        """For each result that a run cuts, the result with its extents."""
        shapes = [(bound(s.size),) if n in self._shape_of else s.shape for n, s in enumerate(function.results)]
        self.stored = [
            (shape, np.dtype(BITS.get(s.dtype, s.dtype))) for shape, s in zip(shapes, function.results, strict=True)
        ]
        self._new_arrays = [] if symbols_of_step(function) else [new_arrays(*s) for s in self.stored]
        self._ndarray = np.ndarray
        is_plain = self._structure is None and not self._shape_of and function.values is None
        self._is_one_array = is_plain and self._dtypes[0] != "bfloat16"
        """True if the result is an array as the library stores it."""
        self.values = function.values
        """The handles among parameters and results; None if all are tensors."""
        self.takes_values, self.gives_values = function.takes_values, function.gives_values
        numbers = {} if self.values is None else self.values.numbers
        self._input_types = [numbers.get(s) for s in function.params]
        self._output_types = [numbers.get(s) for s in function.results]
        self._forms = function.param_structures
        self._names_in_model = function.model_inputs
        names = [p.name for p in self._params]
        self._by_name = {p.name: p for p in self._params} if len(set(names)) == len(names) else {}
        self._exact = _exact(self._params)
        self._solved: tuple[list[Any], list[Callable[[], Any]], Sequence[int]] | None = None
        """The shapes of the last inputs; the functions that make arrays for the results, and the lengths, that follow from them."""
        self.lengths: Lengths | None = None
        """Solves the lengths that a run decides; None for static shapes."""
        if symbols_of_step(function):
            names = [s.name for s in function.params]
            self.lengths = Lengths(
                entry,
                symbols_of_function(function),
                names,
                function.declared_shapes,
                function.demands,
                function.state_lengths,
            )
            self._extents = [(list(map(self.lengths.extent, shape)), dtype) for shape, dtype in self.stored]
            self._params = [Var(p.name, _opened(p.type_annotation)) for p in self._params]
            self._exact = _exact(self._params)

    def arrays(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
        """The tensors of the inputs, in the order of the function's parameters, as the library takes them.

        Raises IrError for a wrong number, shape or dtype of inputs.
        """
        result = self._as_given(inputs)
        if result is not None:
            return result
        import numpy as np

        values = check_inputs(self._params, inputs, self._entry, names=self._names_in_model)
        return [_as_bits(np.require(a, requirements=["C", "A"])) for a in value_leaves(values)]

    def arrays_of_values(self, inputs: Sequence[Any] | Mapping[str, Any], memory: ValueMemory) -> list[Any]:
        """As `arrays`, where some inputs are values, which are put into memory: their tensors are handles."""
        import numpy as np

        values = check_inputs(self._params, inputs, self._entry, names=self._names_in_model)
        names = [p.name for p, form in zip(self._params, self._forms, strict=True) for _ in flat([form], [form])]
        arrays = []
        for x, n, name in zip(flat(self._forms, values), self._input_types, names, strict=True):
            if n is None:
                arrays.append(_as_bits(np.require(x, requirements=["C", "A"])))
            else:
                arrays.append(np.asarray(memory.put(x, n, f"%{name}"), np.int64))
        return arrays

    def _as_given(self, inputs: Sequence[Any] | Mapping[str, Any]) -> list[Any] | None:
        """The inputs where the library takes each as it is, which most callers give; None if they are to be looked at."""
        exact = self._exact
        if exact is None or len(inputs) != len(exact):
            return None
        if type(inputs) is dict:
            if inputs.keys() != self._by_name.keys():
                return None
            arrays = [inputs[n] for n in self._by_name]
        elif type(inputs) is list or type(inputs) is tuple:
            arrays = list(inputs)
        else:
            return None
        ndarray, lengths = self._ndarray, self.lengths
        for a, (shape, dtype) in zip(arrays, exact):
            if type(a) is not ndarray or a.dtype is not dtype or not a.flags.carray:
                return None
            if a.shape != shape and (lengths is None or not _matches(a.shape, shape)):
                return None
        return arrays

    def outputs(self) -> list[Any]:
        """New arrays for the tensors of the result."""
        return [new_array() for new_array in self._new_arrays]

    def call(
        self, inputs: Sequence[Any] | Mapping[str, Any], values: Sequence[int] = ()
    ) -> tuple[list[Any], list[Any], Sequence[int]]:
        """The tensors of the inputs, new arrays for those of the result, and the lengths that the shapes give, as the library takes
        them; `values` are those of the lengths in the instance. Raises as `arrays` and `Lengths.solve` do."""
        return self._with_outputs(self.arrays(inputs), values)

    def call_on_values(
        self, inputs: Sequence[Any] | Mapping[str, Any], values: Sequence[int] = ()
    ) -> tuple[list[Any], list[Any], Sequence[int], ValueMemory]:
        """As `call`, with the memory of values."""
        assert self.values is not None
        memory = ValueMemory(self.values.types)
        return *self._with_outputs(self.arrays_of_values(inputs, memory), values), memory

    def new_memory(self) -> ValueMemory | None:
        """A memory for the values of a run; None if all parameters and results are tensors."""
        return None if self.values is None else ValueMemory(self.values.types)

    def _with_outputs(self, arrays: list[Any], values: Sequence[int]) -> tuple[list[Any], list[Any], Sequence[int]]:
        if self.lengths is None:
            return arrays, self.outputs(), ()
        shapes = [a.shape for a in arrays]
        solved = self._solved
        if values or solved is None or solved[0] != shapes:
            lengths = self.lengths.solve(shapes, values)
            makers = [new_arrays(shape, dtype) for shape, dtype in self.stored_at(lengths)]
            solved = shapes, makers, self.lengths.passed(lengths)
            self._solved = None if values else solved  # callers mostly come back with the same shapes
        return arrays, [new_array() for new_array in solved[1]], solved[2]

    def stored_at(self, lengths: Sequence[int]) -> list[tuple[list[int], Any]]:
        """`stored` for these lengths of the run."""
        return [([extent(lengths) for extent in extents], dtype) for extents, dtype in self._extents]

    def result(self, outputs: Sequence[Any], memory: ValueMemory | None = None) -> Any:
        """The value whose leaves are these tensors, those whose extents follow from values cut to these, and handles read from memory."""
        if self._is_one_array:
            return outputs[0]
        if memory is not None:
            memory.update()
            outputs = [
                a if n is None else memory.get(int(a), n) for a, n in zip(outputs, self._output_types, strict=True)
            ]
        if self._shape_of:
            outputs = [
                a if n not in self._shape_of else _cut(a, outputs[self._shape_of[n]]) for n, a in enumerate(outputs)
            ]
        return nested(self._structure, map(as_dtype, outputs, self._dtypes))


def _cut(array: Any, shape: Any) -> Any:
    """The first elements of an array, as a tensor of that shape."""
    extents = shape.tolist()
    return array.reshape(-1)[: math.prod(extents)].reshape(extents)


def _parameters(function: HostFunction) -> list[Var]:
    """The parameters of the function with their types."""
    slots = iter(function.params)
    return [
        Var(name, trampoline(_type_of(structure, slots)))
        for name, structure in zip(function.param_names, function.param_structures, strict=True)
    ]


def _opened(t: Any) -> Any:
    """The type with `?` for the lengths that a run decides, which `Lengths` compares."""

    def open_tensor(x: Any) -> Any:
        if not isinstance(x, TensorType):
            return x
        return TensorType(tuple(ANY if isinstance(d, SymbolicInt) else d for d in x.shape), x.dtype)

    return rewrite_type(t, open_tensor)


def _type_of(structure: Any, slots: Iterator[Slot]) -> Generator[Any, Any, Any]:
    """Written as if recursive: see `trampoline`."""
    if structure is None:
        slot = next(slots)
        return GlobalTypeVar(HANDLE) if slot.dtype == HANDLE else TensorType(slot.shape, slot.dtype)
    fields = []
    for part in structure:
        fields.append((yield _type_of(part, slots)))
    return TupleType(tuple(fields))


def _exact(params: Sequence[Var]) -> list[tuple[tuple[Any, ...], Any]] | None:
    """Shape and dtype of an array that needs no conversion, for each parameter; None if one has several tensors, or a dtype
    that numpy lacks."""
    import numpy as np

    result = []
    for p in params:
        t = p.type_annotation
        if not isinstance(t, TensorType) or t.dtype not in np.sctypeDict:
            return None
        result.append((t.shape, np.dtype(t.dtype)))
    return result


def _matches(shape: Sequence[int], pattern: Sequence[Any]) -> bool:
    """True if the extents are equal where the pattern has numbers."""
    return len(shape) == len(pattern) and all(p is ANY or p == d for d, p in zip(shape, pattern))


def _as_bits(array: Any) -> Any:
    """bfloat16 as uint16."""
    return array.view("uint16") if dtype_name(array) == "bfloat16" else array
