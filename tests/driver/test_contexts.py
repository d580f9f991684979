"""The current PassContext governs what is run and built inside of it; what is given explicitly overrides it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.ir import Module
from irtool.passes import PassContext, PassInfo, PassInstrument, parse_pipeline, run_passes

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = exp(%x);
  %1 = tanh(%0);
  %2 = nn.relu(%1);
  %3 = negative(%2);
  exp(%3)
}
"""


class Recorder(PassInstrument):
    def __init__(self) -> None:
        self.events: list[str] = []

    def enter_pass_ctx(self) -> None:
        self.events.append("enter")

    def exit_pass_ctx(self) -> None:
        self.events.append("exit")

    def run_before_pass(self, module: Module, info: PassInfo) -> None:
        self.events.append(info.name)


@pytest.fixture
def module() -> Module:
    return irtool.parse(TEXT)


def kernels(module: Module) -> int:
    return irtool.to_text(module).count("Primitive=1")


@pytest.mark.promise("contexts")
def test_run_passes_obeys_the_context(module: Module) -> None:
    (fuse,) = parse_pipeline("FuseOps")
    with PassContext(config={"relay.FuseOps.max_depth": 1}):
        assert kernels(run_passes(module, "FuseOps")) == kernels(fuse(module)) == 5
        assert kernels(run_passes(module, "FuseOps", config={"relay.FuseOps.max_depth": 3})) == 2
    assert kernels(run_passes(module, "FuseOps")) == 1


@pytest.mark.promise("contexts")
def test_explicit_arguments_override(module: Module) -> None:
    with PassContext(opt_level=4):
        assert "fast_exp" in irtool.to_text(run_passes(module, [parse_sequence("FastMath")]))
        assert "fast_exp" not in irtool.to_text(run_passes(module, [parse_sequence("FastMath")], opt_level=1))
    with PassContext(disabled_pass=["FuseOps"]):
        assert kernels(run_passes(module, [parse_sequence("FuseOps")])) == 0
        assert kernels(run_passes(module, [parse_sequence("FuseOps")], disabled_pass=[])) == 1


def parse_sequence(text: str) -> Any:
    from irtool.passes import Sequential

    return Sequential([text])


@pytest.mark.promise("contexts")
def test_instruments_are_told_once_and_see_everything(module: Module) -> None:
    outer, inner = Recorder(), Recorder()
    with PassContext(instruments=[outer]):
        run_passes(module, "FuseOps")
        run_passes(module, "FastMath", instruments=[inner])
    assert outer.events == ["enter", "InferType", "FuseOps", "exit"]
    assert inner.events == ["enter", "InferType", "FastMath", "exit"]


@pytest.mark.promise("contexts")
def test_build_obeys_the_context(module: Module) -> None:
    recorder = Recorder()
    x = np.linspace(-1, 1, 4, dtype="float32")
    with PassContext(opt_level=0, disabled_pass=["FuseOps"], instruments=[recorder]):
        built = irtool.build(module)
    assert recorder.events[0] == "enter" and "build" in recorder.events and "FuseOps" not in recorder.events
    assert "FoldConstant" not in recorder.events, "which is of level 2"
    assert len(built.report["kernels"]) == 4, "of five, two are equal"
    np.testing.assert_allclose(built.run([x]), irtool.evaluate(module, [x]), rtol=1e-5)
    recorder.events.clear()
    with PassContext(opt_level=0, disabled_pass=["FuseOps"], instruments=[recorder]):
        irtool.build(module, opt_level=3, disabled_pass=[], instruments=[])
    assert recorder.events == ["enter", "exit"]
    assert len(irtool.build(module).report["kernels"]) == 1


class Failing(Recorder):
    def enter_pass_ctx(self) -> None:
        raise ValueError("not today")


@pytest.mark.promise("contexts")
def test_an_instrument_that_fails_on_entering_leaves_no_context_behind() -> None:
    first = Recorder()
    with pytest.raises(ValueError, match="not today"), PassContext(instruments=[first, Failing()]):
        raise AssertionError("must not be reached")
    assert first.events == ["enter", "exit"]
    assert PassContext.entered() is None


@pytest.mark.promise("contexts")
def test_every_instrument_is_told_to_leave() -> None:
    class Stubborn(Recorder):
        def exit_pass_ctx(self) -> None:
            raise ValueError("stays")

    first, last = Recorder(), Recorder()
    with pytest.raises(ValueError, match="stays"), PassContext(instruments=[first, Stubborn(), last]):
        pass
    assert first.events == last.events == ["enter", "exit"]
    assert PassContext.entered() is None


@pytest.mark.promise("contexts")
@pytest.mark.parametrize("parameter", ["required_pass", "disabled_pass"])
def test_names_are_a_list_of_known_ones(parameter: str, module: Module) -> None:
    for call in (PassContext, lambda **options: run_passes(module, "FuseOps", **options)):
        with pytest.raises(UsageError, match=rf"{parameter} is a list of names, not the string 'FuseOps'"):
            call(**{parameter: "FuseOps"})
        with pytest.raises(UsageError, match="unknown pass FuseOp"):
            call(**{parameter: ["FuseOp"]})
        with pytest.raises(UsageError, match="is a list of names, and 3 is none"):
            call(**{parameter: [3]})


@pytest.mark.promise("contexts")
def test_warnings_reach_the_context_around(module: Module) -> None:
    from irtool.passes import module_pass

    @module_pass(opt_level=0, name="Complains")
    def complains(module: Module, context: PassContext) -> Module:
        context.warn("this is odd")
        return module

    messages: list[str] = []
    with PassContext() as context:
        run_passes(module, [complains], warn=lambda d: messages.append(d.message))
        run_passes(module, [complains])
    assert [d.message for d in context.warnings] == messages == ["this is odd"]
