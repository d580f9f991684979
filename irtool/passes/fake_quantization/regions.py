"""Finding regions between dequantize and quantize, and rewriting them by rules."""

from __future__ import annotations

from collections.abc import Collection

from ...diagnostics import IrError
from ...ir import Call, Constant, Expr, Function, Op, TensorType, Tuple, TupleGetItem, rewrite
from ...ir.expr import children
from ...ops.base import call, is_call_to
from .affine import Affine, AffineTuple, AnyAffine, NotSupported, Types, find_rule, is_quantized_alone


class QuantizedRegion:
    """The operators between a root call and the dequantize calls that it rests on."""

    def __init__(self, root: Call) -> None:
        self.root = root
        self.calls: list[Call] = []
        self.types: dict[Expr, Affine] = {}
        self.is_dataflow = True
        self._collect()

    def _collect(self) -> None:
        seen: set[Expr] = set()
        stack: list[Expr] = [self.root]
        while stack:
            e = stack.pop()
            if e in seen:
                continue
            seen.add(e)
            if isinstance(e, Call) and isinstance(e.op, Op):
                if e.op.name == "qnn.quantize":
                    self.types[e] = Affine(e.args[1], e.args[2], e.attrs.out_dtype, e.attrs.axis)
                    stack.append(e.args[0])
                    continue
                self.calls.append(e)
                if e.op.name == "qnn.dequantize":
                    self.types[e] = Affine(e.args[1], e.args[2], _dtype(e.args[0]), e.attrs.axis)
                    continue
            elif not isinstance(e, Tuple | TupleGetItem | Constant | Op):
                self.is_dataflow = False
                return
            stack.extend(children(e))


def _dtype(e: Expr) -> str:
    from ...infer import infer_expr

    t = e.checked_type or infer_expr(e).checked_type
    assert isinstance(t, TensorType)
    return t.dtype


class Converter:
    """Rewrites one region from its root downwards. `hard_fail` makes a region that cannot be rewritten an error.

    `optional` names operators whose optional rules are followed, too.
    """

    def __init__(self, types: Types, hard_fail: bool, out: AnyAffine | None, optional: Collection[str] = ()) -> None:
        self.types = types
        self.optional = optional
        self.hard_fail = hard_fail
        self.out = out

    def run(self, root: Call, calls: list[Call]) -> Expr:
        """The integer form of the region, or `root` if it has none."""
        if not calls:
            return root
        for e in calls:
            assert isinstance(e.op, Op)
            if find_rule(e.op.operator, self.optional) is None:
                return self.give_up(root, e, f"operator {e.op.name} has no integer form")
        try:
            return self.typed(root, rewrite(root, self.leave, self.enter))
        except (NotSupported, IrError) as error:
            return self.give_up(root, root, f"a region cannot be computed in integers: {error}")

    def typed(self, root: Call, result: Expr) -> Expr:
        """The integer form with its types. Raises NotSupported, or IrError, if an integer operator does not take its operands or
        gives another type than the region has."""
        from ...infer import infer_expr

        if result is root or self.out is None:
            return result
        typed = infer_expr(result)
        expected = root.checked_type or infer_expr(root).checked_type
        if typed.checked_type != expected:
            raise NotSupported(f"the integer form is {typed.checked_type!r}, not {expected!r}")
        return typed

    def give_up(self, root: Call, where: Expr, message: str) -> Expr:
        if self.hard_fail:
            raise IrError(f"FakeQuantizationToInteger: {message}", where.span)
        return root

    def enter(self, e: Expr) -> Expr | None:
        """A dequantize is the border of the region: nothing below it is looked at."""
        return self.apply(e) if is_call_to(e, "qnn.dequantize") else None

    def leave(self, old: Expr, new: Expr) -> Expr:
        if isinstance(new, Call):
            if self.out is not None:
                self.types[new] = self.out
            return self.apply(new)
        if isinstance(new, Tuple):
            fields = [t for f in new.fields if isinstance(t := self.types.get(f), Affine)]
            if len(fields) < len(new.fields):
                raise NotSupported("a field of a tuple is not quantized")
            self.types[new] = AffineTuple(tuple(fields))
        elif isinstance(new, TupleGetItem):
            whole = self.types.get(new.tuple)
            if not isinstance(whole, AffineTuple):
                raise NotSupported("a tuple is not quantized")
            self.types[new] = whole.fields[new.index]
        return new

    def apply(self, e: Call) -> Expr:
        if not isinstance(e.op, Op):
            raise NotSupported("a call in a region is of no operator")
        rule = find_rule(e.op.operator, self.optional)
        if rule is None:
            raise NotSupported(f"operator {e.op.name} has no integer form")
        result, t = rule(e, self.types)
        self.types[result] = t
        return result


def rewrite_regions(root: Function, hard_fail: bool, optional: Collection[str] = ()) -> Function:
    """Every region that ends in a quantize in integers."""
    memo: dict[Expr, Expr] = {}

    def leave(old: Expr, new: Expr) -> Expr:
        if not is_call_to(new, "qnn.quantize"):
            return new
        assert isinstance(old, Call)
        region = QuantizedRegion(old)
        if not region.is_dataflow:
            return new
        types: Types = {(new if e is old else memo[e]): t for e, t in region.types.items()}
        calls = [n for e in region.calls if isinstance(n := memo[e], Call) and isinstance(n.op, Op)]
        if len(calls) < len(region.calls):
            return new
        return Converter(types, hard_fail, types[new], optional).run(new, calls)

    return rewrite(root, leave, memo=memo)


def rewrite_dequantized_inputs(root: Function, hard_fail: bool, optional: Collection[str] = ()) -> Function:
    """Operators on dequantized inputs in integers, with a dequantize behind each."""

    def leave(old: Expr, new: Expr) -> Expr:
        if not (isinstance(new, Call) and isinstance(new.op, Op) and is_quantized_alone(new.op.operator)):
            return new
        region = QuantizedRegion(new)
        inner = [e for e in region.calls if e is not new]
        if not region.is_dataflow or not inner:
            return new
        stray = next((e for e in inner if not is_call_to(e, "qnn.dequantize")), None)
        if stray is not None:
            if hard_fail:
                raise IrError("FakeQuantizationToInteger: an input is not dequantized", stray.span)
            return new
        converter = Converter(dict(region.types), hard_fail, None, optional)
        result = converter.run(new, [*inner, new])
        t = converter.types.get(result)
        if result is new or not isinstance(t, Affine):
            return new
        dtype = next((e.attrs.out_dtype for e in inner if is_call_to(e, "qnn.dequantize")), "")
        return call("qnn.dequantize", result, t.scale, t.zero_point, out_dtype=dtype, axis=t.axis)

    return rewrite(root, leave)
