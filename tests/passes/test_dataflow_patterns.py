"""The dataflow-pattern language: matching, rewriting, partitioning."""

from __future__ import annotations

import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.ir import Call, Expr, Function, If, Let, Module, Op, TensorType, Tuple, TupleGetItem, Var, post_order
from irtool.ops.base import call
from irtool.passes.core.constants import scalar_constant
from irtool.passes.dataflow import (
    FunctionPattern,
    PatternMatch,
    RewriteRule,
    dominates,
    is_call,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    matches,
    partition,
    rewrite_patterns,
    wildcard,
)

T = TensorType((2, 3), "float32")


def var(name: str) -> Var:
    return Var(name, T, None, T)


def typed(*params: Var, body: Expr) -> Function:
    return irtool.infer_types(Module({"main": Function(params, body)}))["main"]


def names(e: Expr) -> list[str]:
    return [n.op.name for n in post_order(e) if isinstance(n, Call) and isinstance(n.op, Op)]


x, y, z = var("x"), var("y"), var("z")


class TestMatching:
    def test_variables_and_constants(self):
        assert matches(is_var("x"), x) and matches(is_var(), x) and not matches(is_var("y"), x)
        assert matches(is_constant(), scalar_constant(1, "int32")) and not matches(is_constant(), x)
        assert matches(is_expr(scalar_constant(1, "int32")), scalar_constant(1, "int32"))
        assert not matches(is_expr(scalar_constant(1, "int32")), scalar_constant(2, "int32"))

    def test_calls(self):
        pattern = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))
        assert matches(pattern, call("nn.relu", call("add", x, y)))
        assert not matches(pattern, call("exp", call("add", x, y)))
        assert not matches(is_op("add")(wildcard()), call("add", x, y))
        assert matches(is_call(is_op("add")), call("add", x, y))
        assert matches(is_call(wildcard()), call("exp", x)) and not matches(is_call(wildcard()), x)

    def test_same_part_twice_is_the_same_node(self):
        p = wildcard()
        assert matches(is_op("add")(p, p), call("add", x, x))
        assert not matches(is_op("add")(p, p), call("add", x, y))

    @pytest.mark.parametrize("op", ["add", "multiply"])
    def test_commutative(self, op):
        pattern = is_op(op)(is_op("exp")(wildcard()), is_var("y"))
        assert matches(pattern, call(op, call("exp", x), y)) and matches(pattern, call(op, y, call("exp", x)))

    def test_subtraction_is_not_commutative(self):
        pattern = is_op("subtract")(is_op("exp")(wildcard()), is_var("y"))
        assert not matches(pattern, call("subtract", y, call("exp", x)))

    def test_products_and_quotients_regroup(self):
        a, b, c = is_var("x"), is_var("y"), is_var("z")
        assert matches((a * b) / c, call("multiply", x, call("divide", y, z)))
        assert matches(a * (b / c), call("divide", call("multiply", x, y), z))
        assert not matches((a * b) / c, call("multiply", x, call("divide", z, y)))

    def test_failed_branch_of_an_alternative_leaves_nothing_behind(self):
        p = wildcard()
        pattern = is_op("add")(is_op("exp")(p), is_op("log")(p)) | is_op("add")(is_op("exp")(wildcard()), p)
        assert matches(pattern, call("add", call("exp", x), call("nn.relu", y)))

    def test_tuples(self):
        pair = Tuple((x, y))
        assert matches(is_tuple([is_var("x"), is_var("y")]), pair) and matches(is_tuple(), pair)
        assert not matches(is_tuple([wildcard()]), pair)
        assert matches(is_tuple_get_item(is_tuple(), 1), TupleGetItem(pair, 1))
        assert matches(is_tuple_get_item(is_tuple()), TupleGetItem(pair, 0))
        assert not matches(is_tuple_get_item(is_tuple(), 1), TupleGetItem(pair, 0))

    def test_control_flow_and_functions(self):
        cond = Var("c", TensorType((), "bool"))
        assert matches(is_if(is_var("c"), is_var("x"), wildcard()), If(cond, x, y))
        v = Var("v")
        assert matches(is_let(is_var("v"), is_op("exp")(wildcard()), is_var("v")), Let(v, call("exp", x), v))
        f = Function((x, y), call("add", x, y))
        assert matches(FunctionPattern((is_var("x"), is_var("y")), is_op("add")(wildcard(), wildcard())), f)
        assert matches(FunctionPattern(None, wildcard()), f)
        assert not matches(FunctionPattern((wildcard(),), wildcard()), f)

    def test_attributes(self):
        e = call("nn.softmax", x, axis=1)
        assert matches(is_op("nn.softmax")(wildcard()).has_attr(axis=1), e)
        assert not matches(is_op("nn.softmax")(wildcard()).has_attr(axis=0), e)
        assert not matches(is_op("nn.softmax")(wildcard()).has_attr(axes=1), e)
        assert matches(wildcard().has_attr(TOpPattern=1)(wildcard(), wildcard()), call("add", x, y))
        assert not matches(wildcard().has_attr(TOpPattern=1)(wildcard()), call("exp", x))
        f = Function((x,), x, attrs={"Composite": "a"})
        assert matches(FunctionPattern(None, wildcard()).has_attr(Composite="a"), f)
        assert not matches(FunctionPattern(None, wildcard()).has_attr(Composite="b"), f)

    def test_types(self):
        e = call("exp", x)
        assert matches(wildcard().has_type(T), e) and matches(wildcard().has_shape((2, 3)), e)
        assert matches(wildcard().has_dtype("float32"), e)
        assert not matches(wildcard().has_shape((3, 2)), e) and not matches(wildcard().has_dtype("int8"), e)

    def test_optional(self):
        pattern = is_op("add")(wildcard(), wildcard()).optional(lambda p: is_op("nn.relu")(p))
        assert matches(pattern, call("add", x, y)) and matches(pattern, call("nn.relu", call("add", x, y)))
        assert not matches(pattern, call("exp", call("add", x, y)))

    def test_dominator(self):
        conv = is_op("nn.dense")(wildcard(), wildcard())
        elementwise = wildcard().has_attr(TOpPattern=0)(wildcard()) | is_op("add")(wildcard(), wildcard())
        pattern = dominates(conv, elementwise, is_op("add")(wildcard(), wildcard()))
        root = call("nn.dense", x, y, units=None)
        assert matches(pattern, call("add", call("exp", root), call("nn.relu", root)))
        assert not matches(pattern, call("add", call("exp", root), call("nn.relu", z)))
        assert not matches(pattern, call("add", call("exp", root), call("sum", root)))

    def test_long_path_needs_no_stack(self):
        e: Expr = call("nn.dense", x, y, units=None)
        for _ in range(20_000):
            e = call("exp", e)
        path = is_op("exp")(wildcard())
        assert matches(
            dominates(is_op("nn.dense")(wildcard(), wildcard()), path, is_op("nn.relu")(wildcard())), call("nn.relu", e)
        )


class TestRewriting:
    def test_replaces_until_nothing_changes(self):
        p = wildcard()
        rule = RewriteRule(is_op("nn.relu")(is_op("nn.relu")(p)), lambda before, after, m: call("nn.relu", m[p]))
        e: Expr = x
        for _ in range(9):
            e = call("nn.relu", e)
        assert names(rewrite_patterns([rule], typed(x, body=e))) == ["nn.relu"]

    def test_no_match_is_the_same_object(self):
        f = typed(x, body=call("exp", x))
        rule = RewriteRule(is_op("log")(wildcard()), lambda before, after, m: after)
        assert rewrite_patterns([rule], f) is f

    def test_replacement_sees_rewritten_operands(self):
        p = wildcard()
        seen: list[list[str]] = []

        def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
            seen.append(names(match[p]))
            return call("log", match[p])

        f = typed(x, body=call("exp", call("nn.relu", call("exp", x))))
        assert names(rewrite_patterns([RewriteRule(is_op("exp")(p), replace)], f)) == ["log", "nn.relu", "log"]
        assert seen == [[], ["log", "nn.relu"]]

    def test_types_are_there_for_every_rule(self):
        p = wildcard()
        shapes = []

        def replace(before: Expr, after: Expr, match: PatternMatch) -> Expr:
            shapes.append(before.checked_type)
            return call("nn.relu", match[p])

        rules = [
            RewriteRule(is_op("exp")(p), lambda before, after, m: call("log", m[p])),
            RewriteRule(is_op("log")(p), replace),
        ]
        rewrite_patterns(rules, typed(x, body=call("exp", x)))
        assert shapes == [T]

    def test_rules_that_undo_each_other_are_an_error(self):
        p = wildcard()
        rules = [
            RewriteRule(is_op("exp")(p), lambda before, after, m: call("log", m[p])),
            RewriteRule(is_op("log")(p), lambda before, after, m: call("sqrt", m[p])),
            RewriteRule(is_op("sqrt")(p), lambda before, after, m: call("exp", call("nn.relu", m[p]))),
        ]
        with pytest.raises(IrError, match="conflict"):
            rewrite_patterns(rules, typed(x, body=call("exp", x)))

    def test_overlap_goes_to_the_outer_match(self):
        p = wildcard()
        rule = RewriteRule(is_op("exp")(is_op("exp")(p)), lambda before, after, m: call("log", m[p]), once=True)
        e = call("exp", call("exp", call("exp", x)))
        assert names(rewrite_patterns([rule], typed(x, body=e))) == ["exp", "log"]


class TestPartitioning:
    pattern = is_op("nn.relu")(is_op("add")(wildcard(), is_constant()))

    def functions(self, e: Expr) -> list[Function]:
        return [n for n in post_order(e) if isinstance(n, Function)]

    def test_makes_a_function_of_the_inputs(self):
        e = call("nn.relu", call("add", call("exp", x), scalar_constant(1, "float32")))
        (f,) = self.functions(partition(self.pattern, e, {"Composite": "add_relu"}))
        assert f.attrs == {"PartitionedFromPattern": "add_nn.relu_", "Composite": "add_relu"}
        assert [p.name for p in f.params] == ["FunctionVar_0_0"] and names(f.body) == ["add", "nn.relu"]

    def test_interior_node_used_outside_is_not_taken(self):
        inner = call("add", x, scalar_constant(1, "float32"))
        e = Tuple((call("nn.relu", inner), inner))
        assert partition(self.pattern, e) is e

    def test_use_that_leads_back_into_the_match_is_fine(self):
        p = wildcard()
        inner = call("exp", x)
        pattern = is_op("add")(is_op("exp")(p), wildcard())
        e = call("add", inner, call("log", inner))
        assert len(self.functions(partition(pattern, e))) == 1

    def test_check_refuses(self):
        e = call("nn.relu", call("add", x, scalar_constant(1, "float32")))
        assert partition(self.pattern, e, check=lambda e: False) is e

    def test_what_a_pattern_does_not_name_stays_outside(self) -> None:
        """A call pattern without arguments, or a tuple pattern without fields, takes in the node alone."""
        x, y = var("x"), var("y")
        e = call("add", call("exp", x), y)
        (f,) = self.functions(partition(is_call(is_op("add")), typed(x, y, body=e).body))
        assert len(f.params) == 2 and names(f.body) == ["add"]
        pair = call("concatenate", Tuple((call("exp", x), y)), axis=0)
        (f,) = self.functions(partition(is_op("concatenate")(is_tuple()), typed(x, y, body=pair).body))
        assert len(f.params) == 2 and names(f.body) == ["concatenate"]

    def test_does_not_partition_twice(self):
        e = call("nn.relu", call("add", x, scalar_constant(1, "float32")))
        once = partition(self.pattern, e)
        assert partition(self.pattern, once) is once

    def test_computes_the_same(self):
        import numpy as np

        e = call(
            "nn.relu",
            call("add", call("nn.relu", call("add", x, scalar_constant(1, "float32"))), scalar_constant(2, "float32")),
        )
        before = irtool.infer_types(Module({"main": Function((x,), e)}))
        after = irtool.infer_types(Module({"main": Function((x,), partition(self.pattern, e))}))
        data = np.linspace(-3, 3, 6, dtype="float32").reshape(2, 3)
        assert (irtool.evaluate(before, [data]) == irtool.evaluate(after, [data])).all()
