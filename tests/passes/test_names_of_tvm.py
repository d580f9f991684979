"""What TVM's users name: passes under TVM's prefixes, passes that wait for tuners, options, and prerequisites."""

from __future__ import annotations

import pytest

import irtool
from irtool.commands.pass_manual import explain
from irtool.diagnostics import UsageError
from irtool.passes import PassContext, Sequential, passes
from irtool.passes.core.absent import REASONS, RELAY_REASONS
from irtool.passes.core.config_options import config_options
from irtool.passes.core.registry import TVM_PREFIXES
from irtool.passes.core.tvm_options import KINDS

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 9, 9), float32], %w: Tensor[(4, 8, 3, 3), float32], %b: Tensor[(4), float32]) {
  nn.relu(nn.bias_add(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]), %b)) / 3f
}"""
MODULE = irtool.parse(TEXT)


@pytest.mark.parametrize("prefix", TVM_PREFIXES)
@pytest.mark.parametrize("name", ["FuseOps", "SimplifyInference", "Simplify", "MetaScheduleLayoutRewrite"])
def test_a_pass_is_known_under_the_prefixes_of_tvm(prefix, name) -> None:
    assert passes.get(prefix + name) is passes.get(name)


def test_an_unknown_name_under_a_prefix_is_refused() -> None:
    for name in ("relay._transform.FuseOp", "relay.transform.", "relax.transform"):
        with pytest.raises(UsageError, match="unknown pass"):
            passes.get(name)


@pytest.mark.parametrize("name", ["AutoSchedulerLayoutRewrite", "MetaScheduleLayoutRewrite"])
def test_a_pass_that_waits_for_a_tuner_says_that_it_changes_nothing(name) -> None:
    diagnostics = []
    after = irtool.run_passes(MODULE, name, warn=diagnostics.append)
    assert irtool.structural_equal(after, irtool.infer_types(MODULE))
    assert [f"{name} changes nothing" in d.message for d in diagnostics] == [True]


LAYOUT = '{desired_layouts={"nn.conv2d": ["NHWC", "OHWI"]}}'


def test_a_sequence_runs_what_a_pass_requires_and_a_named_pass_runs_alone() -> None:
    """As in TVM, where ConvertLayout by itself stops at a bias."""
    named, in_sequence = (
        irtool.to_text(run())
        for run in (
            lambda: irtool.run_passes(MODULE, f"ConvertLayout{LAYOUT}"),
            lambda: Sequential([f"ConvertLayout{LAYOUT}"])(MODULE, PassContext(opt_level=5)),
        )
    )
    assert "nn.bias_add" in named and "nn.bias_add" not in in_sequence


@pytest.mark.parametrize("name", ["ConvertLayout", "DivToMul"])
def test_the_manual_says_what_runs(name: str) -> None:
    (other,) = [r for r in passes.get(name).required if r != "InferType"]
    page = explain(name)
    assert "runs before it: InferType\n" in page and f"runs before it in a Sequential: {other}\n" in page


VALUES = {bool: True, int: 1, str: "x", list: [], dict: {}}


@pytest.mark.parametrize("key", KINDS)
def test_an_option_without_effect_is_taken_with_a_note(key) -> None:
    context = PassContext(config={key: VALUES[KINDS[key]]})
    assert [f"the pass option {key} has no effect: " in w.message for w in context.warnings] == [True]
    diagnostics = []
    irtool.run_passes(MODULE, "SimplifyInference", config=dict(context.config), warn=diagnostics.append)
    assert len(diagnostics) == 1


def test_options_that_are_read_are_not_among_those_without_effect() -> None:
    assert not {key for key, _, _ in config_options()} & KINDS.keys()
    with pytest.raises(UsageError, match="unknown pass option"):
        PassContext(config={"tir.disable_vectorise": True})
    with pytest.raises(UsageError, match=r"pass option tir.usmp.algorithm"):
        PassContext(config={"tir.usmp.algorithm": 3})


def test_missing_passes_are_missing() -> None:
    for names in RELAY_REASONS.values():
        assert not [n for n in names if n in passes]
    for names in REASONS.values():
        assert not [n for n in names if f"tir.{n}" in passes]
