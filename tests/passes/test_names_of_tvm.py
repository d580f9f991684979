"""What TVM's users name: passes under TVM's prefixes, passes that wait for tuners, options, and prerequisites."""

from __future__ import annotations

import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.passes import PassContext, Sequential, passes
from irtool.passes.absent import REASONS, RELAY_REASONS
from irtool.passes.config_option import config_options
from irtool.passes.registry import TVM_PREFIXES
from irtool.passes.tvm_options import KINDS

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
    said = []
    after = irtool.run_passes(MODULE, name, warn=said.append)
    assert irtool.structural_equal(after, irtool.infer_types(MODULE))
    assert [f"{name} changes nothing" in d.message for d in said] == [True]


LAYOUT = '{desired_layouts={"nn.conv2d": ["NHWC", "OHWI"]}}'


@pytest.mark.parametrize("text", [f"ConvertLayout{LAYOUT}", "DivToMul"])
def test_a_named_pass_runs_what_it_requires(text) -> None:
    in_sequence = Sequential([text])(MODULE, PassContext(opt_level=5))
    assert irtool.structural_equal(irtool.run_passes(MODULE, text), in_sequence)


def test_convert_layout_carries_the_layout_past_a_bias() -> None:
    text = irtool.to_text(irtool.run_passes(MODULE, f"ConvertLayout{LAYOUT}"))
    assert "nn.bias_add" not in text and "divide" in text
    assert text.count("layout_transform") == 4


VALUES = {bool: True, int: 1, str: "x", list: [], dict: {}}


@pytest.mark.parametrize("key", KINDS)
def test_an_option_without_effect_is_taken_with_a_note(key) -> None:
    context = PassContext(config={key: VALUES[KINDS[key]]})
    assert [f"the pass option {key} has no effect: " in w.message for w in context.warnings] == [True]
    said = []
    irtool.run_passes(MODULE, "SimplifyInference", config=dict(context.config), warn=said.append)
    assert len(said) == 1


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
