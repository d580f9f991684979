"""Limits of constant folding in bytes and multiplications: one budget for all of a module that a pass transforms.

A call on constants may be a few words that stand for gigabytes (`repeat`, `tile`, `dyn.zeros`), and each may be below a limit of its own. So
what counts is all together: what results have beyond the constants that they replace, and the multiplications and moves that they take. A
fold that the budget has no room for stays a call. Casts, transposes and sums of weights replace what they read, and cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from ...deferred import np
from ...diagnostics import IrError
from ...infer import infer_expr
from ...ir import Call, Constant, Expr, MissingData, Module, Op, TensorType, Tuple, Type, post_order
from ...ir.types import distinct_leaves
from ...ops.pattern import Pattern
from .constants import to_array
from .lexical_devices import without_device
from .static_form import static_form

MOST_BYTES = 1 << 26
"""The bytes that folded constants of a module without weights may add to the constants that they replace."""

MOST_WORK = 1 << 36
"""Elements moved, and products summed: a minute of numpy's time."""

_WEIGHT_FACTOR = 4
"""Bytes more for each byte of a parameter's value: transformed for Winograd's algorithm, 3 x 3 weights become 6 x 6."""


class FoldingBudget:
    """The remaining budget for the folds of a module. `result_bytes` has the bytes of all admitted results."""

    def __init__(self, weight_bytes: int = 0) -> None:
        self.bytes_left = MOST_BYTES + _WEIGHT_FACTOR * weight_bytes
        self.work_left = MOST_WORK + (1 << 12) * weight_bytes
        self.result_bytes = 0
        self._replaced: dict[int, object] = {}

    @classmethod
    def of(cls, roots: Iterable[Expr]) -> FoldingBudget:
        """The budget of functions, by the values of parameters in them."""
        data = {
            id(e.data): e.data.nbytes
            for root in roots
            for e in post_order(root)
            if isinstance(e, Constant) and not isinstance(e.data, MissingData) and e.span is not None and e.span.name
        }
        return cls(sum(data.values()))

    def admits(self, call: Call, result: Type | None) -> bool:
        """Charges the value of a call on constants to the budget; False if it does not fit. `result` is its known type."""
        size = _size(call, result)
        if size is None:
            return True  # it depends on the values of operands, and has no more elements than these
        elements, nbytes = size
        operands = list(_constants(call.args))
        fresh = [c for c in operands if id(c.data) not in self._replaced]
        replaced = sum(c.data.size for c in fresh)  # type: ignore[union-attr,misc]  # the data of the constants is there
        work = elements * _products(call, operands) + sum(c.data.size for c in operands)  # type: ignore[union-attr,misc]  # as above
        return self._take(elements, nbytes, replaced, work, [c.data for c in fresh])

    def admits_array(self, elements: int, itemsize: int, operands: Iterable[np.ndarray]) -> bool:
        """The same for a result of so many elements that is made of arrays."""
        fresh = {id(a): a for a in operands if id(a) not in self._replaced}
        replaced = sum(a.size for a in fresh.values())
        return self._take(elements, elements * itemsize, replaced, elements + replaced, fresh.values())

    def _take(self, elements: int, nbytes: int, replaced: int, work: int, operands: Iterable[object]) -> bool:
        grown = max(0, elements - replaced) * (nbytes // max(1, elements))
        if grown > self.bytes_left or work > self.work_left:
            return False
        self.bytes_left -= grown
        self.work_left -= work
        self.result_bytes += nbytes
        self._replaced.update((id(o), o) for o in operands)
        return True


_current: ContextVar[list[FoldingBudget | Module] | None] = ContextVar("folding_budget", default=None)


@contextmanager
def sharing_budget(module: Module) -> Iterator[None]:
    """All that is folded inside shares the budget of this module. It is found when something is folded."""
    if _current.get() is not None:
        yield
        return
    token = _current.set([module])
    try:
        yield
    finally:
        _current.reset(token)


def current_budget(root: Expr) -> FoldingBudget:
    """The budget that is shared here; outside of passes, one for `root`."""
    shared = _current.get()
    if shared is None:
        return FoldingBudget.of([root])
    budget = shared[0]
    if isinstance(budget, Module):
        budget = shared[0] = FoldingBudget.of(budget.relay_functions.values())
    return budget


def _size(call: Call, result: Type | None) -> tuple[int, int] | None:
    """Elements and bytes of a result; None if only the values of operands tell."""
    leaves = _leaves(result)
    if leaves is None:
        with_shapes = static_form(call)
        try:
            leaves = _leaves(infer_expr(with_shapes).checked_type)
        except IrError:
            return 0, 0  # evaluating it says the same
    if leaves is None:
        return _told_by_values(call, result)
    counts = [(math.prod(t.static_shape), t.dtype) for t in leaves]
    return sum(n for n, _ in counts), sum(n * _itemsize(dtype) for n, dtype in counts)


def _told_by_values(call: Call, result: Type | None) -> tuple[int, int] | None:
    """The same by the operator itself, where it is one whose operands tell how much it makes (`arange`)."""
    tell = getattr(call.attrs, "elements_of", None)
    if tell is None or not isinstance(result, TensorType):
        return None
    try:
        elements = tell(*(to_array(c) for c in map(without_device, call.args)))  # type: ignore[arg-type]  # all are constants
    except IrError:
        return 0, 0
    return elements, elements * _itemsize(result.dtype)


def _leaves(t: Type | None) -> list[TensorType] | None:
    if t is None:
        return None
    leaves = list(distinct_leaves(t))
    return leaves if all(isinstance(x, TensorType) and x.is_static for x in leaves) else None  # type: ignore[return-value]  # checked


def _itemsize(dtype: str) -> int:
    digits = "".join(c for c in dtype if c.isdigit())
    return max(1, int(digits or "8") // 8)


def _constants(args: Sequence[Expr]) -> Iterator[Constant]:
    stack = list(reversed(args))
    known: set[int] = set()
    while stack:
        e = without_device(stack.pop())
        if isinstance(e, Tuple):
            stack.extend(reversed(e.fields))
        elif isinstance(e, Constant) and not isinstance(e.data, MissingData) and id(e.data) not in known:
            known.add(id(e.data))
            yield e


def _products(call: Call, operands: Sequence[Constant]) -> int:
    """Products that are summed to each element, at most: of operators with weights, those of one output channel."""
    if not isinstance(call.op, Op) or call.op.operator.pattern != Pattern.OUT_ELEMWISE_FUSABLE or len(operands) < 2:
        return 1
    shape = operands[1].data.shape  # type: ignore[union-attr]  # the data of the constants is there
    return max(1, math.prod(shape) // max(1, min(shape, default=1)))
