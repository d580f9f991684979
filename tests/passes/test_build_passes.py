"""What all passes of the build pipeline and the normal forms promise, on generated modules and on deep ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import irtool
from irtool.ir import Expr, Function, Let, Module, TensorType, Tuple, Var
from irtool.ir.scope import Scopes
from irtool.ops.base import call
from irtool.passes import PassContext, parse_pipeline
from irtool.passes.instruments.values import CheckValues
from irtool.passes.instruments.verifying import Verifying
from irtool.passes.to_basic_block_normal_form import is_basic_block_normal_form

sys.path.insert(0, str(Path(__file__).parent.parent))
from generators import random_module

PASSES = [
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelBatchMatmul",
    "CombineParallelConv2D",
    "CombineParallelDense",
    "DeadCodeElimination",
    "DeadCodeElimination{inline_once=True}",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "EtaExpand{expand_global_var=True}",
    "FlattenAtrousConv",
    "FoldConstant",
    "FoldExplicitPadding",
    "FoldScaleAxis",
    "FuseOps",
    "FuseOps,DefuseOps",
    "FuseOps{fuse_opt_level=0}",
    "Inline",
    "LabelOps",
    "LambdaLift",
    "PropagateConstantArguments",
    "RemoveUnusedFunctions",
    "SimplifyExpr",
    "SimplifyInference",
    "SplitArgs{max_function_args=3}",
    "ToANormalForm",
    "ToBasicBlockNormalForm",
]
NOT_IDEMPOTENT = {
    "EtaExpand{expand_global_var=True}": "what was expanded calls the global function, and is expanded again",
    "FuseOps": "a group of tuple operations alone is marked Primitive=0",
    "FuseOps{fuse_opt_level=0}": "the same",
    "LambdaLift": "closures return a function, which is lifted again",
    "SplitArgs{max_function_args=3}": "the stages are split again where the limit is tight",
    "ToANormalForm": "the result of a block is bound again",
    "ToBasicBlockNormalForm": "a variable bound to a variable moves out",
}
IDEMPOTENT = [p for p in PASSES if p not in NOT_IDEMPOTENT]


@pytest.mark.parametrize("passes", PASSES)
def test_keeps_values_and_form(passes: str) -> None:
    for seed in range(12):
        module = irtool.infer_types(random_module(seed, 10))
        after = irtool.run_passes(module, passes, opt_level=3, instruments=[Verifying(), CheckValues(count=1)])
        again = irtool.run_passes(module, passes, opt_level=3)
        assert irtool.to_text(after) == irtool.to_text(again)


@pytest.mark.parametrize("passes", IDEMPOTENT)
def test_twice_is_once(passes: str) -> None:
    for seed in range(12):
        once = irtool.run_passes(random_module(seed, 10), passes, opt_level=3)
        twice = irtool.run_passes(once, passes, opt_level=3)
        assert irtool.to_text(once, types="none") == irtool.to_text(twice, types="none")


T = TensorType((4,), "float32")


def chain(count: int) -> Function:
    x = Var("x", T)
    e: Expr = x
    for i in range(count):
        e = call("nn.relu", e) if i % 3 else call("add", e, x)
    return Function((x,), e, T)


def lets(count: int) -> Function:
    x = Var("x", T)
    names = [Var(f"v{i}") for i in range(count)]
    e: Expr = names[-1]
    for i in range(count - 1, -1, -1):
        e = Let(names[i], call("add", names[i - 1] if i else x, x), e)
    return Function((x,), e, T)


def nested_lets(count: int) -> Function:
    x = Var("x", T)
    e: Expr = call("exp", x)
    for i in range(count):
        v = Var(f"v{i}")
        e = Let(v, e, v)
    return Function((x,), e, T)


def wide(count: int) -> Function:
    x = Var("x", T)
    return Function(
        (x,), call("concatenate", Tuple(tuple(call("exp", call("nn.relu", x)) for _ in range(count))), axis=0)
    )


SHAPES = {"chain": (chain, 10_000), "lets": (lets, 3_000), "nested_lets": (nested_lets, 3_000), "wide": (wide, 2_000)}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_depth_is_too_deep(shape: str) -> None:
    make, count = SHAPES[shape]
    module = irtool.infer_types(Module({"main": make(count)}))
    for text in [*PASSES, "ToGraphNormalForm"]:
        after = module
        with PassContext(opt_level=3) as context:
            for p in parse_pipeline(text):
                after = context.infer(p.apply(after, context))
        assert "main" in after


def test_basic_block_normal_form_is_checked() -> None:
    x, c = Var("x", T), Var("c", TensorType((), "bool"))
    from irtool.ir import If

    shared = call("exp", x)
    f = Function((x, c), If(c, shared, call("log", shared)))
    assert not is_basic_block_normal_form(f)
    after = irtool.run_passes(Module({"main": f}), "ToBasicBlockNormalForm")
    assert is_basic_block_normal_form(after["main"])


def test_scope_of_a_shared_node_encloses_its_uses() -> None:
    from irtool.ir import If

    x, c = Var("x", T), Var("c", TensorType((), "bool"))
    shared, mine = call("exp", x), call("log", x)
    branch = call("add", shared, mine)
    f = Function((x, c), If(c, branch, shared))
    scopes = Scopes(f)
    assert scopes.of[shared] is scopes.inner[f][0] and scopes.of[mine] is scopes.of[branch]
    assert scopes.of[branch] is scopes.inner[f.body][0] and scopes.lifted == {shared}


@pytest.mark.parametrize(
    ("mean", "wrong"), [(0.5, False), (float("nan"), False), (2.0, True)], ids=["positive", "nan", "negative"]
)
def test_scale_that_may_be_negative_does_not_pass_a_relu(mean: float, wrong: bool) -> None:
    from irtool.passes.core.constants import tensor_constant

    x = Var("x", TensorType((1, 2, 3, 3), "float32"))
    w = Var("w", TensorType((2, 2, 1, 1), "float32"))
    scale = tensor_constant([[[mean]], [[-mean if wrong else mean]]], "float32")
    body = call("nn.conv2d", call("nn.relu", call("multiply", x, scale)), w, padding=(0, 0, 0, 0))
    module = irtool.infer_types(Module({"main": Function((x, w), body)}))
    after = irtool.run_passes(module, "ForwardFoldScaleAxis")
    assert (after is module) == wrong
