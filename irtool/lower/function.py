"""One function of a module as a host function: the value of each expression, and the steps that compute it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ..diagnostics import InternalError, IrError
from ..infer.lengths import symbols_of_params
from ..ir import (
    Call,
    Constant,
    Constructor,
    Expr,
    ExternFunction,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    TensorType,
    Tuple,
    TupleGetItem,
    Type,
    Var,
    children,
    post_order,
    tuple_leaves,
)
from ..ir.tensor_names import input_shapes, loss_output, output_names, parameters_by_input, ram_limit
from ..ir.types import require_few_leaves
from ..ops.onnx_node import OnnxImpossible
from ..ops.run_lengths import LengthEqual, LengthSet
from ..symbolic_int import Symbol, symbol_of
from ..tir.dtypes import HANDLE
from ..tir.errors import ELEMENTS_ERROR, UNEQUAL_ERROR
from ..tir.program import (
    CONSTANT,
    PARAM,
    RESULT,
    Branch,
    CallFunction,
    Fail,
    HostFunction,
    RunKernel,
    SetLengths,
    Slot,
    Step,
)
from ..tir.stmt import PrimFunc
from ..tir.values import EntryValues
from ..trampoline import trampoline
from . import known, objects
from .closures import close
from .compose import flat_types, operator_calls
from .describe import places
from .fields import take_fields
from .function_state import FunctionState
from .handles import handle_leaves, is_handle, leaf_types, may_be_written
from .kernels import primitive_of
from .length_cases import CASES, choose_case
from .lowered import lowered_callee
from .mistakes import NoCounterpart, StateMismatch
from .required import conditions_of
from .shared import ModuleLowering
from .value_lengths.rewriting import EXTENTS
from .values import (
    REFUSED,
    Cell,
    Closure,
    Value,
    dims,
    flat,
    nest,
    part,
    same_structure,
    shapes,
    structure,
    structure_of,
)


class FunctionLowering(FunctionState):
    """The lowering of one function. Its methods that are generators run on a trampoline: expressions nest without limit."""

    def __init__(self, whole: ModuleLowering, name: str, closure: Closure, captured: list[Slot]) -> None:
        super().__init__(whole, name, closure)
        self.function = closure.function
        self.captured = captured
        self.around: list[Expr] = list(closure.captured)
        self.lengths: dict[Symbol, None] = {}
        """The lengths that its steps set."""

    def lower(self) -> HostFunction:
        """The host function; its memory is not planned yet."""
        f = self.function
        params: list[Slot] = []
        known_shapes, declared = input_shapes(f), []
        names: list[str] = []
        structures: list[Any] = []
        for p in f.params:
            t = p.checked_type or p.type_annotation
            try:
                self.check_entry(t, p)
                types = self.types(t, p)
            except IrError as error:
                self.whole.problems += error.diagnostics
                self.blocks.learn(p, REFUSED)
                continue
            slots = [Slot(f"{p.name}_{n}", dims(x), x.dtype, PARAM) for n, x in enumerate(types)]
            if len(slots) == 1:
                slots[0].name = p.name
            params += slots
            declared += known_shapes.get(p, [s.shape for s in slots])
            names.append(p.name)
            structures.append(structure_of(t))
            self.blocks.learn(p, nest(structures[-1], iter(slots)))
        value = self.case(params) if CASES in f.attrs else trampoline(self.value(f.body))
        extents = tuple(f.attrs.get(EXTENTS, ()))
        results, form = self._results(value, extents)
        if extents and isinstance(form, tuple):
            form = form[0]
        return HostFunction(
            self.name,
            params + self.captured,
            results,
            self.blocks.steps[0],
            form,
            param_names=names,
            param_structures=structures,
            declared=declared if known_shapes and not self.captured else (),
            model_inputs=parameters_by_input(f),
            model_outputs=output_names(f),
            releases=self.whole.in_region and self._keeps_nothing(),
            lengths=tuple(self.lengths),
            extents_of=extents,
            values=self._entry_values(params, results),
            ram_limit=ram_limit(f),
            trains=loss_output(f) is not None,
        )

    def _results(self, value: Value, extents: Sequence[int]) -> tuple[list[Slot], Any]:
        """The results of the function and their structure; the last ones are the extents of others."""
        f, form = self.function, None
        results: list[Slot] = []
        if value is REFUSED:
            return results, form
        try:
            if f.body.checked_type is not None:
                require_few_leaves(f.body.checked_type)
            self.check_entry(f.body.checked_type, f.body)
            form = structure(value)
            slots = self.leaves(value, f.body)
            first = len(slots) - len(extents)
            for n, (slot, shape) in enumerate(zip(slots, shapes(f.body, slots))):
                name = f"out{n}" if n < first else f"out{extents[n - first]}_shape"
                result = Slot(name, shape, slot.dtype, RESULT)
                results.append(result)
                self.blocks.deliver(slot, result)
        except IrError as error:
            self.whole.problems += error.diagnostics
        return results, form

    def case(self, params: list[Slot]) -> Value:
        """The value of the function that is the entry's for the lengths of the run."""
        f = self.function
        for name in f.attrs[CASES]:
            self.whole.enqueue(name)
        results = [self.blocks.fresh(dims(t), t.dtype) for t in self.types(f.body.checked_type, f.body)]
        for step in choose_case(f, [s for s in symbols_of_params(f) if s.choices], params, results):
            self.blocks.add(step)
        return nest(structure_of(f.body.checked_type), iter(results))

    def _entry_values(self, params: Sequence[Slot], results: Sequence[Slot]) -> EntryValues | None:
        """The types of an entry's handles; None without any."""
        slots = [s for s in (*params, *results) if s.dtype == HANDLE]
        if not slots or self.name not in self.whole.entries:
            return None
        types = [*(p.checked_type or p.type_annotation for p in self.function.params), self.function.body.checked_type]
        leaves = [x for t in types for x in tuple_leaves(t) if is_handle(x)]  # type: ignore[arg-type]  # types have been inferred
        layouts = self.whole.layouts
        return EntryValues(layouts.types, {s: layouts.number(x) for s, x in zip(slots, leaves, strict=True)})

    def _keeps_nothing(self) -> bool:
        """True if nothing that the function makes can be reached when it is over: its results are tensors, and it gets no reference."""
        module, f = self.whole.module, self.function
        handed = [*(p.checked_type or p.type_annotation for p in f.params), *(v.checked_type for v in self.around)]
        result = f.body.checked_type
        return not any(handle_leaves(result)) and not any(may_be_written(module, t) for t in handed)

    def check_entry(self, t: Type | None, e: Expr) -> None:
        """Raises IrError for an entry's parameter or result of a type that its callers cannot have."""
        if not self.whole.in_region or self.name not in self.whole.entries:
            return
        for x in tuple_leaves(t):  # type: ignore[arg-type]  # types have been inferred
            if is_handle(x):
                try:
                    self.whole.layouts.number(x, e)
                except IrError:
                    self.whole.depends_on_values = True
                    raise

    def types(self, t: Type | None, e: Expr) -> list[TensorType]:
        """The types of the slots of a value. Raises IrError for a type without any."""
        return leaf_types(t, e) if self.whole.in_region else flat_types(t, e)

    def leaves(self, value: Value, e: Expr, t: Type | None = None) -> list[Slot]:
        """The slots of an expression's value, as one of type `t`. Raises IrError for a value without any."""
        return objects.slots_of(self, value, t or e.checked_type, e) if self.whole.in_region else flat(value, e)

    def construct(self, constructor: Constructor, args: Sequence[Expr], e: Expr) -> Value:
        if self.whole.in_region:
            return objects.construct(self, constructor, args, e)
        return super().construct(constructor, args, e)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def value(self, root: Expr) -> Generator[Any, Any, Value]:
        """The value of an expression; steps that compute it are added to the innermost block."""
        find, learn = self.blocks.find, self.blocks.learn
        while isinstance(root, Let) and find(root) is None:
            if find(root.var) is None:
                value = yield self.value(root.value)
                learn(root.var, value)
                if isinstance(value, Closure) and value.function is root.value:
                    value.captured[root.var] = value
            root = root.body
        result = find(root)
        if result is not None:
            return result
        closed = (If, Let, Function, Match)
        order = post_order(root, enter=lambda e: not isinstance(e, closed) and find(e) is None)
        for e in order:
            if find(e) is not None or isinstance(e, Op | GlobalVar | Constructor):
                continue
            if isinstance(e, If):
                lowered = yield self.branch(e)
            elif isinstance(e, Match):
                lowered = yield (objects if self.whole.in_region else known).lower_match(self, e)
            elif isinstance(e, Call) and (callee := known.lowered_in_place(self, e)) is not None:
                lowered = yield known.lower_in_place(self, e, callee)
            elif isinstance(e, Let):
                lowered = yield self.value(e)
            else:
                lowered = self.tried(e)
            learn(e, lowered)
        return self.known_value(root) if self.whole.in_region else find(root)

    def tried(self, e: Expr) -> Value:
        """A node with known operands, or refused: a node without a counterpart is noted once, and the rest goes on."""
        if any(self.blocks.find(k) is REFUSED for k in children(e)):
            return REFUSED
        try:
            return self.one(e)
        except InternalError:
            raise  # nothing that the program can be blamed for
        except IrError as error:
            self.whole.problems += error.diagnostics
            return REFUSED

    def one(self, e: Expr) -> Value:
        """A node whose operands are known."""
        if isinstance(e, Constant):
            return self.whole.constant(e)
        if isinstance(e, Tuple):
            return tuple(self.known_value(f) for f in e.fields)
        if isinstance(e, TupleGetItem):
            return self.blocks.find(e.tuple)[e.index]  # type: ignore[index]  # inference has made sure that it is a tuple
        if isinstance(e, Function):
            return close(e, self.blocks.find, self.whole.free_variables)
        if isinstance(e, RefCreate | RefRead | RefWrite) and self.whole.in_region:
            return objects.create_reference(self, e) if isinstance(e, RefCreate) else objects.read_or_write(self, e)
        if isinstance(e, RefCreate):
            return Cell(self.known_value(e.value), self.blocks.depth)
        if isinstance(e, RefRead | RefWrite):
            return known.read_or_write(self, e)
        if isinstance(e, Call):
            return self.call(e)
        if isinstance(e, Var):
            raise IrError(f"%{e.name} is not known here", e.span, code=NoCounterpart)
        raise IrError(f"{type(e).__name__} has no counterpart in C: {e!r}", e.span, code=NoCounterpart)

    # -- calls ---------------------------------------------------------------------------------------------------------

    def call(self, e: Call) -> Value:
        """A call whose arguments are known."""
        if isinstance(e.op, Constructor):
            return self.construct(e.op, e.args, e)
        nest_called = lowered_callee(self.whole.module, e)
        if nest_called is not None:
            return self.lowered(e, *nest_called)
        if isinstance(e.op, Op) and e.op.name == LengthSet.name:
            return self.set_lengths(e)
        if isinstance(e.op, Op) and e.op.name == LengthEqual.name:
            return self.require_equal(e)
        if isinstance(e.op, Op) and e.op.name == OnnxImpossible.name:
            outputs = [self.blocks.fresh(dims(t), t.dtype) for t in flat_types(e.checked_type, e)]
            self.blocks.add(Fail([], outputs))
            return nest(structure_of(e.checked_type), iter(outputs))
        if isinstance(e.op, Op):
            return self.kernel(e, *primitive_of(e))
        callee = self.callee(e)
        if isinstance(callee, Slot):
            return self._call(e, *objects.call_of_handle(self, callee, e))
        if callee is None:
            raise IrError(f"the callee {e.op!r} is not known at compile time", e.span, code=NoCounterpart)
        function: Any = self.whole.module[callee.name] if isinstance(callee, GlobalVar) else callee.function
        if isinstance(function, ExternFunction):
            raise IrError(f"{callee!r} is external and has no body to compile", e.span, code=NoCounterpart)
        if function.attrs.get("Primitive"):
            return self.kernel(e, function, list(e.args))
        captured: list[Slot] = []
        if isinstance(callee, GlobalVar):
            if callee.name in self.whole.stateful:
                raise IrError(f"@{callee.name} has states, and is called", e.span, code=StateMismatch)
            name = self.whole.enqueue(callee.name)
        else:
            name, captured = self.whole.lift(callee, self.name)
        return self._call(e, name, [], captured)

    def _call(self, e: Call, name: str, before: list[Slot], after: Sequence[Slot] = ()) -> Value:
        """A call of a function of the program, with slots before and after those of the arguments."""
        inputs = [s for a in e.args for s in self.leaves(self.known_value(a), a)]
        outputs = [self.blocks.fresh(dims(t), t.dtype) for t in self.types(e.checked_type, e)]
        self.blocks.add(CallFunction(name, [*before, *inputs, *after], outputs))
        return nest(structure_of(e.checked_type), iter(outputs))

    def set_lengths(self, e: Call) -> Value:
        """The data of a call that sets lengths, behind the step that does."""
        (values,) = flat(self.blocks.find(e.args[1]), e.args[1])
        symbols = tuple(s for s in map(symbol_of, e.attrs.lengths) if s is not None)
        if symbols:
            self.lengths.update(dict.fromkeys(symbols))
            (origin,) = places((e,))
            self.blocks.add(SetLengths(values, symbols, tuple(e.attrs.places), origin.at))
        return self.blocks.find(e.args[0])

    def require_equal(self, e: Call) -> Value:
        """The data of a call that requires extents to be equal, behind the step that ends the run if they are not."""
        (condition,) = flat(self.blocks.find(e.args[1]), e.args[1])
        self.blocks.require(condition, UNEQUAL_ERROR)
        return self.blocks.find(e.args[0])

    def kernel(self, e: Call, function: Function, args: list[Expr]) -> Value:
        """A call of a primitive function."""
        for condition in conditions_of(function):
            self.blocks.refuse(condition, ELEMENTS_ERROR, at_once=not any(s in self.lengths for s in condition.symbols))
        function, fields = take_fields(function)
        inputs = [s for f in fields for s in flat(part(self.blocks.find(args[f.argument]), f.path), args[f.argument])]
        types = flat_types(e.checked_type, e)
        folded = known.folded(self, e, function, inputs, types)
        if folded is not None:
            return folded
        kernel_of = self.whole.kernels.get(function)
        form = structure_of(e.checked_type)
        if kernel_of is None:
            return nest(form, iter([self.blocks.fresh(dims(t), t.dtype) for t in types]))
        inputs += [self.whole.constant(c) for c in kernel_of.constants]
        inputs = [inputs[n] for n in kernel_of.taken]
        kernel = kernel_of.kernel
        copied = kernel.copies
        if copied is not None:
            return nest(form, iter([inputs[copied]]))
        outputs = [self.blocks.fresh(dims(t), t.dtype) for t in types]
        self.blocks.add(RunKernel(kernel, inputs, outputs, places=places(operator_calls(function))))
        return nest(form, iter(outputs))

    def lowered(self, e: Call, callee: GlobalVar, function: PrimFunc, args: tuple[Expr, ...]) -> Value:
        """A call of a loop nest."""
        kernel, constants = self.whole.kernels.lowered(callee.name, function)
        inputs = [s for a in args for s in flat(self.blocks.find(a), a)] + [self.whole.constant(c) for c in constants]
        types = flat_types(e.checked_type, e)
        outputs = [self.blocks.fresh(dims(t), t.dtype) for t in types]
        handed, declared = [(s.size, s.dtype) for s in (*inputs, *outputs)], [(b.size, b.dtype) for b in kernel.params]
        if handed != declared or len(inputs) != len(kernel.inputs):
            raise IrError(f"the arguments of {callee!r} do not match its buffers", e.span, code=NoCounterpart)
        form = structure_of(e.checked_type)
        if kernel.copies is not None:
            return nest(form, iter([inputs[kernel.copies]]))
        self.blocks.add(RunKernel(kernel, inputs, outputs))
        return nest(form, iter(outputs))

    # -- branches ------------------------------------------------------------------------------------------------------

    def branch(self, e: If) -> Generator[Any, Any, Value]:
        """The value of an `if`: that of one arm where the condition is known, else a branch whose arms compute it."""
        cond = yield self.value(e.cond)
        if isinstance(cond, Slot) and cond.kind == CONSTANT:
            return (yield self.value(e.true_branch if cond.data else e.false_branch))
        refused = cond is REFUSED
        arms: list[list[Step]] = []
        results: list[Slot] = []
        forms: list[list[tuple[tuple[int, ...], str]]] = []
        structures: list[Any] = []
        for arm in (e.true_branch, e.false_branch):
            self.blocks.open()
            value = yield self.value(arm)
            refused = refused or value is REFUSED
            if not refused:
                try:
                    forms.append(self.deliver(arm, self.leaves(value, arm, e.checked_type), results, not arms))
                    structures.append(structure(value))
                except IrError as error:
                    self.whole.problems += error.diagnostics
                    refused = True
            arms.append(self.blocks.close())
        if refused:
            return REFUSED
        if not same_structure(*structures):
            return self.refuse_value("which constructor this gives depends on the inputs", e)
        if forms[0] != forms[1]:
            return self.refuse_value("the shape that this gives depends on the inputs", e)
        self.blocks.add(Branch(cond, arms[0], arms[1], results))
        return nest(structures[0], iter(results))

    def deliver(
        self, arm: Expr, sources: list[Slot], results: list[Slot], first: bool
    ) -> list[tuple[tuple[int, ...], str]]:
        """Makes the values of an arm of a branch appear in the branch's results, which the first arm makes; their forms."""
        forms = [(shape, s.dtype) for shape, s in zip(shapes(arm, sources), sources)]
        if first:
            results += [self.blocks.fresh(shape, dtype, -2) for shape, dtype in forms]
        for source, target in zip(sources, results):
            self.blocks.deliver(source, target)
        return forms
