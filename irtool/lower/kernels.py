"""The kernels of a program: equal primitive functions share one."""

from __future__ import annotations

from dataclasses import dataclass

from ..diagnostics import Diagnostic, InternalError, IrError
from ..ir import Call, Constant, Expr, Function, Var
from ..ir.structural import structural_equal, structural_hash
from ..passes.core.primitive_functions import only_reshapes
from ..tir.constants import hand_over_constants
from ..tir.forms import buffers_read
from ..tir.kernel import Kernel
from ..tir.stmt import PrimFunc
from ..tir.vector_target import VectorTarget
from .compose import compose
from .describe import described_call
from .lowered import kernel_of
from .naming import kernel_name
from .nest import lower_function


@dataclass(frozen=True)
class Lowered:
    """The kernel of a primitive function.

    Attributes:
        kernel: it takes what it reads, and nothing else.
        constants: of the function; they stand behind its arguments.
        taken: the number of each input of the kernel among the function's arguments (tuples flattened) and constants.
    """

    kernel: Kernel
    constants: tuple[Constant, ...]
    taken: tuple[int, ...]


class Kernels:
    """Kernels made so far. What has none is noted in `problems`."""

    def __init__(self, problems: list[Diagnostic], target: VectorTarget) -> None:
        self.all: list[Kernel] = []
        self.problems = problems
        self.target = target
        self._by_hash: dict[int, list[tuple[Function, Lowered]]] = {}
        self._names: dict[str, int] = {}
        self._lowered: dict[PrimFunc, tuple[Kernel, list[Constant]]] = {}

    def lowered(self, name: str, function: PrimFunc) -> tuple[Kernel, list[Constant]]:
        """The kernel of a lowered function, and the constants that it takes behind its inputs. Raises IrError if its nest is
        not well formed."""
        known = self._lowered.get(function)
        if known is None:
            seen = self._names[name] = self._names.get(name, -1) + 1
            nest, bound = hand_over_constants(function)
            constants = [Constant(s.data, s.buffer.dtype) for s in bound]
            kernel = kernel_of(f"{name}_{seen}" if seen else name, nest)
            known = self._lowered[function] = kernel, constants
            self.all.append(kernel)
        return known

    def get(self, function: Function) -> Lowered | None:
        """The kernel of a primitive function; None, with a problem noted, where it has none."""
        key = structural_hash(function)
        for other, known in self._by_hash.get(key, ()):
            if other is function or structural_equal(other, function):
                return known
        try:
            graph = compose(function)
        except InternalError:
            raise  # nothing that the program can be blamed for
        except IrError as error:
            self.problems += error.diagnostics
            return None
        name = kernel_name(c.op_name for c in graph.operators)
        seen = self._names[name] = self._names.get(name, -1) + 1
        operators = [c.op_name for c in graph.operators]
        kernel, taken = _without_unread(lower_function(graph, f"{name}_{seen}" if seen else name, self.target))
        kernel = kernel.replace(operators=operators, calls=[described_call(c) for c in graph.operators])
        # Indices of a reshape may be formulas that no rule simplifies; without an element it takes no input.
        if kernel.copies is None and len(kernel.inputs) == 1 and only_reshapes(function):
            kernel = kernel.replace(copies=0)
        self.all.append(kernel)
        lowered = Lowered(kernel, graph.constants, taken)
        self._by_hash.setdefault(key, []).append((function, lowered))
        return lowered


def _without_unread(kernel: Kernel) -> tuple[Kernel, tuple[int, ...]]:
    """The kernel without the inputs that it does not read (of which it needed the shapes alone), and the numbers of the others."""
    read = buffers_read(*kernel.stages)
    taken = tuple(n for n, b in enumerate(kernel.inputs) if b in read)
    if len(taken) == len(kernel.inputs):
        return kernel, taken
    inputs = [kernel.inputs[n] for n in taken]
    for n, b in enumerate(inputs):
        b.name = f"p{n}"
    return kernel.replace(params=[*inputs, *kernel.outputs]).measured(), taken


def primitive_of(e: Call) -> tuple[Function, list[Expr]]:
    """A primitive function around one operator's call, and the arguments that it takes (constants of one element stay
    inside)."""
    params: list[Var] = []
    inner: list[Expr] = []
    outer: list[Expr] = []
    for n, a in enumerate(e.args):
        if isinstance(a, Constant) and a.is_scalar:
            inner.append(a)
            continue
        v = Var(f"p{n}", a.checked_type, None, a.checked_type)
        params.append(v)
        inner.append(v)
        outer.append(a)
    body = Call(e.op, tuple(inner), e.attrs, e.type_args, e.span, e.checked_type)
    return Function(tuple(params), body, e.checked_type, (), {"Primitive": 1}, e.span), outer
