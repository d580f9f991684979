"""Passes on loop nests: every one keeps values, leaves nests well formed, and is found by its name."""

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.passes import PassContext, passes
from irtool.passes.core.absent import REASONS
from irtool.passes.instruments.verifying import Verifying
from irtool.plugin.mistakes import PluginError
from irtool.printer.text import VERSION
from irtool.tir.expr import Var, const
from irtool.tir.stmt import Buffer, For, PrimFunc, Store, pre_order, seq
from irtool.tir.verify import find_problems
from irtool.tir_passes.prim_func_pass import PrimFuncPass
from tests.command_line import irtool as command
from tests.lower.programs import PROGRAMS, agree, modules

GOLDENS = Path(__file__).parents[1] / "golden" / "tir"
NAMES = sorted({c.name for c in passes if issubclass(c, PrimFuncPass) and c.name.startswith("tir.")})
VARIANTS = {
    "tir.LoopPartition": [
        "{partition_const_loop=True}",
        "{partition_const_loop=True no_unroll_loop_with_extent_one=True}",
    ],
    "tir.UnrollLoop": [
        "{auto_max_step=64}",
        "{auto_max_extent=3 auto_max_depth=2}",
        "{auto_max_step=99 explicit_unroll=False}",
    ],
    "tir.VectorizeLoop": ["", "{enable_vectorize=False}"],
    "tir.CommonSubexprElimTIR": ["", "{identify_equiv_terms=True}"],
    "tir.HoistExpression": ["", "{hoisted_conditionals=3 hoisted_let_bindings=1}"],
    "tir.NarrowDataType": ["{target_bits=16}"],
    "tir.InjectDoubleBuffer": ["", "{split_loop=2}"],
    "tir.BindTarget": ['{target="c"}'],
}
TEXTS = [name + options for name in NAMES for options in VARIANTS.get(name, [""])]
TOGETHER = (
    "tir.LoopPartition{partition_const_loop=True},tir.UnrollLoop{auto_max_step=8},tir.HoistIfThenElse,tir.Simplify,"
    "tir.PlanAndUpdateBufferAllocationLocation,tir.StorageRewrite,tir.CommonSubexprElimTIR,tir.RemoveNoOp,tir.ConvertSSA"
)


@pytest.fixture
def own_passes():
    """Passes that a test registers are gone after it."""
    before = passes.outside()
    yield
    passes.restore(before)


@pytest.mark.promise("lowered text")
@pytest.mark.parametrize("text", [*TEXTS, TOGETHER], ids=lambda t: t[:40])
def test_values_are_kept(text: str) -> None:
    for name in PROGRAMS:
        _, lowered, inputs = modules(name)
        rewritten = irtool.run_passes(lowered, text, instruments=[Verifying()])
        for f in rewritten.functions.values():
            if isinstance(f, PrimFunc):
                assert not list(find_problems(f)), name
        if rewritten is not lowered:
            agree(irtool.evaluate(lowered, inputs), irtool.evaluate(irtool.parse(irtool.to_text(rewritten)), inputs))


@pytest.mark.parametrize("name", ["a chain", "convolution", "top k"])
def test_what_passes_made_is_built(name: str) -> None:
    fused, lowered, inputs = modules(name)
    want = irtool.evaluate(fused, inputs)
    agree(want, irtool.build(lowered, passes=TOGETHER).run(inputs))


def test_each_has_goldens() -> None:
    assert len(NAMES) >= 19
    for name in NAMES:
        assert list((GOLDENS / name.removeprefix("tir.")).glob("*.expected")), name


@pytest.mark.promise("lowered text")
def test_passes_of_tvm_that_are_not_here_are_explained() -> None:
    for names in REASONS.values():
        for name in names:
            assert name not in passes and f"tir.{name}" not in passes
    module, _, _ = modules("convolution")
    for name in ("tir.ThreadSync", "ThreadSync"):
        with pytest.raises(UsageError, match=r"unknown pass .*ThreadSync") as failure:
            irtool.run_passes(module, name)
        assert "thread axes" in failure.value.diagnostics[0].help
        assert "thread axes" in command("passes", name)[2]


def test_they_are_kept_apart() -> None:
    from irtool.commands.pass_manual import list_passes, list_tir_passes

    listed = list_tir_passes()
    assert all(name in listed for name in NAMES)
    assert not any(f"\n{name} " in list_passes() for name in NAMES)


def test_python_names() -> None:
    _, lowered, _ = modules("convolution")
    unrolled = irtool.passes.tir.UnrollLoop(auto_max_step=16)(lowered)
    assert unrolled is not lowered
    config = {"tir.UnrollLoop": {"auto_max_step": 16}}
    with PassContext(config=config):
        assert irtool.structural_equal(irtool.passes.UnrollLoop()(lowered), unrolled)
    with PassContext(disabled_pass=["tir.UnrollLoop"], config=config):
        assert irtool.run_passes(lowered, [irtool.passes.Sequential(["tir.UnrollLoop"])]) is lowered
    with (
        pytest.raises(irtool.IrError, match="unknown option max_step"),
        PassContext(config={"tir.UnrollLoop": {"max_step": 1}}),
    ):
        irtool.passes.tir.UnrollLoop()(lowered)


def test_on_chosen_functions_only() -> None:
    _, lowered, _ = modules("a chain")
    nests = [n for n, f in lowered.functions.items() if isinstance(f, PrimFunc)]
    chosen = next(n for n in nests if "softmax" in n)
    unrolled = irtool.run_passes(lowered, "tir.UnrollLoop{auto_max_extent=300}", f"^{chosen}$")
    assert unrolled[chosen] is not lowered[chosen]
    assert all(unrolled[n] is lowered[n] for n in nests if n != chosen)


def test_a_pass_of_ones_own(own_passes) -> None:
    """A class, as for passes on Relay; what it breaks is said with its name."""
    from dataclasses import dataclass

    from irtool.passes import register_pass
    from irtool.tir.stmt import rewrite_stmt

    @register_pass("test.Backwards")
    @dataclass(frozen=True)
    class Backwards(PrimFuncPass):
        """Runs every loop backwards."""

        def transform(self, function: PrimFunc, module: irtool.Module, context: PassContext) -> PrimFunc:
            from irtool.tir.stmt import substitute_stmt

            def change(s):
                if not isinstance(s, For):
                    return s
                v = Var(s.var.name, s.var.dtype)
                return For(v, s.extent, substitute_stmt(s.body, {s.var: s.extent - 1 - v}), s.kind)

            return function.with_body(rewrite_stmt(function.body, change))

    @register_pass("test.Broken")
    @dataclass(frozen=True)
    class Broken(PrimFuncPass):
        """Forgets to return."""

        def transform(self, function: PrimFunc, module: irtool.Module, context: PassContext) -> PrimFunc:
            pass

    _, lowered, inputs = modules("dense")
    rewritten = irtool.run_passes(lowered, "test.Backwards", instruments=[Verifying()])
    agree(irtool.evaluate(lowered, inputs), irtool.evaluate(rewritten, inputs))
    with pytest.raises(PluginError, match="transform returned None, not a PrimFunc for @"):
        irtool.run_passes(lowered, "test.Broken")


def test_values_are_checked(own_passes) -> None:
    from dataclasses import dataclass

    from irtool.diagnostics import InternalError
    from irtool.passes import register_pass
    from irtool.passes.instruments.values import CheckValues

    @register_pass("test.Forgetful")
    @dataclass(frozen=True)
    class Forgetful(PrimFuncPass):
        """Computes nothing."""

        def transform(self, function: PrimFunc, module: irtool.Module, context: PassContext) -> PrimFunc:
            return function.with_body(seq([]))

    _, lowered, _ = modules("dense")
    check = CheckValues()
    irtool.run_passes(lowered, "tir.Simplify,tir.UnrollLoop{auto_max_step=64}", instruments=[check])
    assert not check.skipped
    with pytest.raises((InternalError, irtool.IrError), match=r"test\.Forgetful changes the results of @main"):
        irtool.run_passes(lowered, "test.Forgetful", instruments=[CheckValues()])


def test_statements_that_are_shared_get_variables_of_their_own() -> None:
    """A nest made in Python may hold one statement twice: ConvertSSA takes it apart."""
    x, out = Buffer("x", (4,)), Buffer("out", (8,))
    i = Var("i")
    loop = For(i, 4, Store(out, (i,), x[i] * 2.0))
    other = For(i, 4, Store(out, (i + 4,), x[i]))
    f = PrimFunc("f", [x, out], seq([loop, other, loop]))
    converted = irtool.passes.tir.ConvertSSA().transform(f, irtool.Module({"f": f}), PassContext.current())
    variables = [s.var for s in pre_order(converted.body) if isinstance(s, For)]
    assert len(set(variables)) == 3 and {v.name for v in variables} == {"i"}
    again = irtool.parse(irtool.to_text(irtool.Module({"f": converted})))
    assert irtool.structural_equal(again["f"], converted) or again["f"].num_outputs == 1


def test_nothing_recurses() -> None:
    """Loops in each other, and expressions, nest without limit."""
    x, out = Buffer("x", (1,)), Buffer("out", (1,))
    value = x[0]
    for n in range(1_500):
        value = value + float(n % 3)
    body = Store(out, (const(0),), value)
    for n in range(1_100):
        body = For(Var(f"i{n}"), 1, body)
    f = PrimFunc("f", [x, out], body)
    module = irtool.Module({"f": f})
    for name in NAMES:
        if name not in ("tir.LoopPartition",):
            irtool.run_passes(module, name)
    irtool.run_passes(module, "tir.LoopPartition{partition_const_loop=True}")
    text = irtool.to_text(module).removeprefix(VERSION)
    call = "\ndef @main(%x: Tensor[(1), float32]) { call_lowered(@f, (%x,)) }\n"
    read = irtool.parse(VERSION + text + call)
    got = irtool.evaluate(read, [np.ones(1, "float32")])
    np.testing.assert_allclose(got, [1 + sum(n % 3 for n in range(1_500))], rtol=1e-5)
