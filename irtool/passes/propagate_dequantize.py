"""PropagateDequantize: moves dequantize behind operators with an exact integer form."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..deferred import np
from ..ir import Call, Expr, Function, Module, TensorType, Tuple, children, post_order, rewrite
from ..ops.base import call, called_operator, is_call_to
from .core.arithmetic import divide
from .core.base import FunctionPass, register_pass
from .core.constants import array_constant
from .core.context import PassContext
from .integer_forms.requantize import Grid, Rounded, combined, requantized, rounded
from .integer_forms.rules import Operand, concatenation, find_exact_form
from .integer_forms.tables import Tabulated, tabulate
from .integer_forms.tensors import BYTES, QuantizedTensor, parameters, quantized_tensor


@register_pass("PropagateDequantize", level=0, required=("InferType",))
@dataclass(frozen=True)
class PropagateDequantize(FunctionPass):
    """Moves `qnn.dequantize` behind operators whose integer form is exact, and joins it with a `qnn.quantize` behind it.

    ::

        nn.conv2d(qnn.dequantize(%x, s, z), qnn.dequantize(%w, t, 0))  ⇒  qnn.dequantize(qnn.conv2d(%x, %w, z, 0, s, t), s·t, 0)
        nn.bias_add(…, qnn.dequantize(b, s·t, 0))                      ⇒  qnn.dequantize(nn.bias_add(…, b), s·t, 0)
        qnn.quantize(qnn.dequantize(%a, s, z), u, y)                   ⇒  cast(round(clip((%a - z) * (s/u))) + y)
        qnn.quantize(qnn.dequantize(%a, s, z), s, z)                   ⇒  %a
        qnn.quantize(concatenate((qnn.dequantize(%a, …), …)), u, y)    ⇒  each piece quantized by itself
        qnn.quantize(add(qnn.dequantize(%a, …), qnn.dequantize(%b, …)), u, y)   ⇒   one rounding, no division
        qnn.quantize(sigmoid(qnn.dequantize(%a, s, z)), u, y)          ⇒  take(table of 256 bytes, %a)

    Products of bytes, transposes, reshapes, slices, max pools, padding with zeros, relus and concatenations of tensors quantized
    alike become those of integers. A product whose sums may leave 32 bits, by the bounds of its types and constant weights,
    stays in float32. Halves are rounded as each `qnn.quantize` says. Results differ from those before by roundings of float32:
    of quantized values, those next to a half may be one step apart. `FakeQuantizationToInteger` requantizes in fixed point instead.
    """

    changes: ClassVar[str] = "approximation"
    tolerance: ClassVar[float] = 0.25

    def transform(self, function: Function, module: Module, context: PassContext) -> Function:
        if not any(is_call_to(e, "qnn.dequantize", "qnn.quantize") for e in post_order(function.body)):
            return function
        return rewrite(function, _Propagation(function).leave)


class _Propagation:
    """The rewriting of one function.

    Attributes:
        bounds: of integers that are made here.
        types: of expressions that are made here.
        users: how often each expression of the function is an argument.
        centred: of bytes that are made here and dequantized for one reader alone, the float32 numbers on the way to them.
        places: the same bytes, in the order in which they are made.
        tables: of bytes that are made here, those that are looked up.
    """

    def __init__(self, function: Function) -> None:
        self.users = Counter(c for e in post_order(function.body) for c in children(e))
        self.users[function.body] += 1
        self.centred: dict[Expr, Expr] = {}
        self.places: dict[Expr, int] = {}
        self.tables: dict[Expr, Tabulated] = {}
        self.bounds: dict[Expr, int] = {}
        self.types: dict[Expr, Any] = {}

    def leave(self, old: Expr, new: Expr) -> Expr:
        if not isinstance(old, Call) or not isinstance(new, Call):
            return new
        self.types[new] = old.checked_type
        result = self._replaced(new)
        if result is None:
            if is_call_to(old, "qnn.dequantize") and self.users[old] > 1:
                self.centred.pop(new.args[0], None)
            return new
        if isinstance(result, Rounded):
            if self.users[old] == 1:
                self.centred[result.expr] = result.centred
                self.places[result.expr] = len(self.places)
            result = result.expr
        if isinstance(result, QuantizedTensor):
            self.bounds[result.expr] = result.bound
            self.types[result.expr] = TensorType(result.shape, result.dtype)
            result = result.dequantized()
        self.types[result] = old.checked_type
        return result

    def _replaced(self, e: Call) -> QuantizedTensor | Rounded | Expr | None:
        type_ = self.types[e]
        if not isinstance(type_, TensorType):
            return None
        if is_call_to(e, "qnn.quantize"):
            return self._quantized(e)
        operator = called_operator(e)
        if operator is None or is_call_to(e, "qnn.dequantize"):
            return None
        if is_call_to(e, "concatenate"):
            (pieces,) = e.args
            fields = self._operands(pieces.fields) if isinstance(pieces, Tuple) else ()
            known = [o for o in fields if isinstance(o, QuantizedTensor)]
            return concatenation(e, known, tuple(type_.shape)) if known and len(known) == len(fields) else None
        operands = self._operands(e.args)
        if not operands or not isinstance(operands[0], QuantizedTensor):
            return None
        rule = find_exact_form(operator)
        return None if rule is None else rule(e, operands, tuple(type_.shape))

    def _operands(self, args: Sequence[Expr]) -> list[Operand]:
        return [self._operand(a) for a in args]

    def _operand(self, e: Expr) -> Operand:
        tensor = quantized_tensor(e, self._type, self.bounds)
        if tensor is None:
            return e
        return replace(tensor, centred=self.centred.get(tensor.expr)) if tensor.dtype in BYTES else tensor

    def _type(self, e: Expr) -> Any:
        return self.types.get(e, e.checked_type)

    def _one_in_registers(self, operands: Sequence[Operand]) -> list[Operand]:
        """Stores the later of two products as bytes: a kernel keeps one product in registers, with the operators after it."""
        in_registers = [o.expr for o in operands if isinstance(o, QuantizedTensor) and o.centred is not None]
        if len(in_registers) < 2 or in_registers[0] is in_registers[1]:
            return list(operands)
        later = max(in_registers, key=self.places.__getitem__)
        return [
            replace(o, expr=call("annotation.stop_fusion", later), centred=None)
            if isinstance(o, QuantizedTensor) and o.expr is later
            else o
            for o in operands
        ]

    def _quantized(self, e: Call) -> Rounded | Expr | None:
        data, *scale_and_zero = e.args
        quantities = parameters(*scale_and_zero)
        if quantities is None or quantities[0].ndim or quantities[1].ndim or e.attrs.out_dtype not in BYTES:
            return None
        grid = Grid(quantities[0], int(quantities[1]), e.attrs.out_dtype, e.attrs.rounding)
        while is_call_to(data, "nn.relu", "clip"):
            grid = grid.between(
                *((0.0, math.inf) if data.op_name == "nn.relu" else (data.attrs.a_min, data.attrs.a_max))
            )
            data = data.args[0]
        (x,) = self._operands([data])
        if isinstance(x, QuantizedTensor):
            same = x.is_uniform and x.dtype == grid.dtype and x.scale == grid.scale and x.zero == grid.zero
            return x.expr if same and data is e.args[0] else requantized(x, grid)
        table = tabulate(data, grid, self._type, self.tables)
        if table is not None:
            looked_up = table.looked_up(self._type(table.source).dtype)
            self.tables[looked_up] = table
            return looked_up
        if is_call_to(data, "add", "subtract", "multiply"):
            result = combined(data, self._one_in_registers(self._operands(data.args)), grid)
            if result is not None:
                return result
        if is_call_to(data, "concatenate") and isinstance(data.args[0], Tuple):
            pieces = [self._piece(f, grid) for f in data.args[0].fields]
            known = [p for p in pieces if p is not None]
            if known and len(known) == len(pieces):
                return Call(data.op, (Tuple(tuple(known)),), data.attrs)
        return rounded(divide(data, array_constant(np.asarray(grid.scale), "float32")), grid).expr

    def _piece(self, e: Expr, grid: Grid) -> Expr | None:
        """One operand of a concatenation, quantized by itself."""
        x = self._operand(e)
        if not isinstance(x, QuantizedTensor):
            return None
        if x.is_uniform and x.dtype == grid.dtype and x.scale == grid.scale and x.zero == grid.zero and not grid.clips:
            return x.expr
        piece = requantized(x, grid)
        return None if piece is None else piece.expr
