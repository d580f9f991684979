"""State shared by the lowerings of the functions of a module: problems, kernels, constants, and the functions still to lower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..diagnostics import Diagnostic, IrError
from ..interp.mistakes import MissingConstant
from ..ir import Constant, Function, FuncType, MissingData, Module, TensorType, Var
from ..ir.narrow import NARROW
from ..tir.equal_data import EqualData, beginning
from ..tir.program import CONSTANT, Slot
from ..tir.region import Layout
from ..tir.vector_target import VectorTarget
from .closures import Captures
from .kernels import Kernels
from .layouts import Layouts
from .packed_constants import packed_data, packed_shape
from .values import Closure


@dataclass(eq=False)
class Codes:
    """The functions of one type that are values.

    Attributes:
        name: the function of the program that calls them: it takes a handle before the arguments.
        layouts: of the objects, by the function's name; the fields are what it captured.
        params: the parameters without the handle, and the results.
    """

    name: str
    params: tuple[list[TensorType], list[TensorType]]
    layouts: dict[str, Layout] = field(default_factory=dict)


class ModuleLowering:
    """State shared by the lowerings of the functions of a module.

    Attributes:
        entries: the functions that others call.
        in_region: data, functions as values and references are objects in the region of a run; otherwise they are known while lowering.
        codes: the functions that are values, by type.
        layouts: the objects in the region.
        problems: expressions without a counterpart, in the order of lowering.
        depends_on_values: one of the problems is there because inputs are not constants.
        in_place: calls lowered in place so far.
        free_variables: of the local functions that have been met.
        constants: their slots, in the order found.
        stateful: entries with states.
        waiting: functions to lower: the name in the program, the function, and the slots that calls hand over behind arguments.
    """

    def __init__(
        self, module: Module, target: VectorTarget, entries: Sequence[str] = (), in_region: bool = False
    ) -> None:
        self.module = module
        self.entries = entries
        self.in_region = in_region
        self.codes: dict[FuncType, Codes] = {}
        self.layouts = Layouts(module)
        self.problems: list[Diagnostic] = []
        self.kernels = Kernels(self.problems, target)
        self.depends_on_values = False
        self.in_place = 0
        self.free_variables: dict[Function, list[Var]] = {}
        self.constants: list[Slot] = []
        self._contents: EqualData[Slot] = EqualData()
        self._named: dict[str, int] = {}
        self._constants_of: dict[Constant, Slot] = {}
        self.waiting: list[tuple[str, Closure, list[Slot]]] = []
        self.stateful: set[str] = set()
        self._queued: set[str] = set()
        self._lifted: dict[int, str] = {}
        self._captures = Captures()

    def enqueue(self, name: str) -> str:
        """Sees to it that a function of the module is in the program, under its name."""
        if name not in self._queued:
            self._queued.add(name)
            function = self.module[name]
            assert isinstance(function, Function)
            self.waiting.append((name, Closure(function, {}), []))
        return name

    def lift(self, closure: Closure, hint: str) -> tuple[str, list[Slot]]:
        """The name of a local function in the program, and the slots that a call hands over behind its arguments."""
        capture = self._captures.of(closure)
        name = self._lifted.get(capture.number)
        if name is None:
            name = self._lifted[capture.number] = self._free_name(f"{hint}_local{len(self._lifted)}")
            self.waiting.append((name, *self._captures.inside(closure)))
        return name, list(capture.slots)

    def codes_of(self, t: FuncType, params: list[TensorType], results: list[TensorType]) -> Codes:
        """The functions of a type that are values."""
        codes = self.codes.get(t)
        if codes is None:
            codes = self.codes[t] = Codes(self._free_name(f"apply_{len(self.codes)}"), (params, results))
        return codes

    def _free_name(self, name: str) -> str:
        while name in self._queued or name in self.module:
            name += "_"
        self._queued.add(name)
        return name

    def _constant_name(self, e: Constant) -> str:
        """The name of the parameter that the value is of, or a number."""
        name = e.span.name if e.span is not None else ""
        seen = self._named[name] = self._named.get(name, 0) + 1
        if not name:
            return f"constant_{len(self.constants)}"
        return name if seen == 1 else f"{name}_{seen}"

    def constant(self, e: Constant) -> Slot:
        """The slot of a constant; equal ones share it."""
        data = e.data
        if isinstance(data, MissingData):
            raise IrError(f"the data of constant {data.key}[{data.index}] is missing", e.span, code=MissingConstant)
        seen = self._constants_of.get(e)
        if seen is None:
            shape, dtype = data.shape, e.dtype
            if dtype in NARROW:
                data, shape, dtype = packed_data(data), packed_shape(shape), NARROW[dtype]
            slot = Slot("", shape, dtype, CONSTANT, data)
            seen = self._contents.first((e.dtype, e.data.shape), beginning(data), slot.read, slot)  # type: ignore[union-attr]  # the data is there
            if seen is slot:
                slot.name = self._constant_name(e)
                self.constants.append(slot)
            self._constants_of[e] = seen
        return seen
