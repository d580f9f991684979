"""Gradients of every operator with a rule, in the cases that the operator states: the slopes of the loss, interpreted and in C.

An operator that gets a rule is tested by having a case (`irtool/ops/*.cases`).
"""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.ir import Call, Function, GlobalVar, Module, Tuple, Var
from irtool.passes.gradients.rule import differentiable, find_rule
from irtool.passes.instruments.verifying import Verifying
from tests.passes.losses import Loss, losses_of

RULES = [name for name in differentiable() if find_rule(name).__module__.startswith("irtool.")]
WITHOUT = {
    *("arange", "zeros", "ones", "dyn.zeros", "dyn.ones", "shape_of", "less_equal", "not_equal"),
    *("cast", "concatenate", "one_hot"),
}
"""Operators whose cases have no real results of real arguments, or too many; `test_gradients.py` has others."""
STEPS = {
    **{
        f"{prefix}{name}": (0.5, 2e-5)
        for prefix in ("", "dyn.")
        for name in ("nn.upsampling", "nn.upsampling3d", "image.resize2d")
    },
    **{f"image.resize{n}d": (0.5, 2e-5) for n in (1, 3)},
    **dict.fromkeys(("nn.deformable_conv2d", "vision.roi_align", "image.crop_and_resize"), (0.002, 0.002)),
}
"""Steps and tolerances for operators that compute in float32 whatever their data are: wide steps are as good for linear maps."""

LARGEST = 150
"""Elements of the arguments of a case up to which differences are taken."""


def gradients_of(loss: Loss) -> Module | None:
    """The loss with its gradients; None where the rule refuses the call."""
    try:
        return irtool.run_passes(loss.module, "FirstOrderGradient", instruments=[Verifying()])
    except InternalError:
        raise
    except IrError as error:
        assert [d.code.name for d in error.diagnostics if d.code] == ["E0507"], error
        return None


@pytest.mark.parametrize("name", RULES)
def test_gradients_are_the_slopes(name: str) -> None:
    for loss in losses_of(name, LARGEST):
        module = gradients_of(loss)
        if module is None:
            continue
        _, gradients = irtool.evaluate(module, loss.arrays)
        step, tolerance = STEPS.get(name, (1e-6, 2e-5))
        for a, g, slope in zip(loss.arrays, gradients, loss.slopes(step), strict=True):
            assert g.shape == a.shape and g.dtype == a.dtype, loss.name
            if a.dtype == np.float64 and np.isfinite(slope).all():  # elsewhere there are no differences
                np.testing.assert_allclose(g, slope, rtol=tolerance, atol=tolerance, err_msg=loss.name)


@pytest.mark.usefixtures("quick_compiles")
@pytest.mark.parametrize("first", range(0, len(RULES), 8), ids=lambda first: RULES[first])
def test_compiled_gradients_are_the_interpreted_ones(first: int) -> None:
    """The cases of several operators are one program."""
    losses = [loss for name in RULES[first : first + 8] for loss in losses_of(name)]
    modules = [(loss, module) for loss in losses if (module := gradients_of(loss)) is not None]
    if not modules:
        pytest.skip("no real results")
    want = [irtool.evaluate(module, loss.arrays)[1] for loss, module in modules]
    whole = _as_one([module for _, module in modules])
    got = irtool.build(whole, opt_level=1).run([a for loss, _ in modules for a in loss.arrays])
    for (loss, _), (_, gradients), expected in zip(modules, got, want, strict=True):
        for g, w in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-9, err_msg=loss.name)


def _as_one(modules: list[Module]) -> Module:
    """The main functions of several modules as functions of one, whose main gives the results of all."""
    functions = {f"of_{n}": m["main"] for n, m in enumerate(modules)}
    params: list[Var] = []
    results = []
    for name, f in functions.items():
        own = [Var(f"{name}_{p.name}", p.type_annotation) for p in f.params]
        params += own
        results.append(Call(GlobalVar(name), tuple(own)))
    return Module({**functions, "main": Function(tuple(params), Tuple(tuple(results)))})


def test_every_rule_has_a_case_of_reals() -> None:
    assert {name for name in RULES if not any(True for _ in losses_of(name))} == WITHOUT
