"""What every registered pass promises, on generated networks and programs.

Values are kept, the input is left alone, the same input gives the same output, nothing to do gives the same object, and a
second run finds nothing left. Passes are taken from the registry, so that a new one is held to all of this; the tables
below say where one promises less, and why.
"""

from __future__ import annotations

from functools import cache

import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.interp.random_inputs import random_inputs
from irtool.ir import Module
from irtool.passes import PassContext
from irtool.passes.instruments.values import difference
from irtool.passes.instruments.verifying import Verifying
from tests.generators import random_module
from tests.networks import random_network
from tests.passes.pipelines import (
    ALL,
    OPTIONS,
    PIPELINES,
    PREPARED,
    REFUSES,
    ROUGH,
    TARGET,
    TOLERANCES,
    last,
    pipelines,
)

NETWORKS = 14
PROGRAMS = 14


RUNS_AGAIN = {
    "BackwardFoldScaleAxis": "of scales behind each other one is folded at a time",
    "FoldScaleAxis": "of scales behind each other one is folded at a time",
    "AlterOpLayout": "a convolution that is in blocks already has other operators around it",
    "AnnotateTarget": "what is marked is marked again",
    "EtaExpand": "what was expanded calls the function, and is expanded again",
    "FuseOps": "a group of tuple operations alone is marked Primitive=0",
    "LambdaLift": "closures return a function, which is lifted again",
    "PartialEvaluate": "every constant is bound anew",
    "QuantizePartition": "sections end again where they end",
    "ReducePrecision": "casts that it made are computed with in float32",
    "SplitArgs": "the stages are split again where the limit is tight",
    "ToANormalForm": "the result of a block is bound again",
    "ToBasicBlockNormalForm": "a variable bound to a variable moves out",
}
"""Passes that find something to do in what they made."""


ALWAYS_NEW = {
    "DeDuplicate": "every bound variable becomes another one, whatever it is called",
    "InlineCompilerFunctionsBoundTo": "what partitioning took apart is put together again",
}
"""Passes whose result is never the module that they were given."""


@cache
def network(seed: int) -> Module:
    return irtool.infer_types(random_network(seed, dtype="float64" if seed % 3 == 2 else "float32"))


@cache
def program(seed: int) -> Module:
    return irtool.infer_types(random_module(seed, 10))


@cache
def values(make: object, seed: int) -> object:
    module: Module = make(seed)  # type: ignore[operator]
    return irtool.evaluate(module, random_inputs(module["main"], seed))  # type: ignore[arg-type]


def text(module: Module) -> str:
    return irtool.to_text(module, types="none")


def check_values(pipeline: str, make: object, seed: int) -> Module:
    """Runs passes on a module, verified, and compares its values; returns what they made of it."""
    module: Module = make(seed)  # type: ignore[operator]
    before = text(module)
    after = irtool.run_passes(module, pipeline, opt_level=4, target=TARGET, instruments=[Verifying()])
    assert text(module) == before, "the input was changed"
    got = irtool.evaluate(after, random_inputs(module["main"], seed))  # type: ignore[arg-type]
    rtol, atol = TOLERANCES.get(last(pipeline), TOLERANCES["FastMath"] if pipeline == "default<O4>" else (1e-4, 1e-4))
    worst = difference(values(make, seed), got, rtol, atol)
    assert worst is None, f"{make.__name__}({seed}): {worst}"  # type: ignore[attr-defined]
    return after


def test_tables_are_of_passes() -> None:
    for table in (OPTIONS, ROUGH, TOLERANCES, PREPARED, REFUSES, RUNS_AGAIN, ALWAYS_NEW):
        assert set(table) <= set(ALL)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_networks_keep_their_values(pipeline: str) -> None:
    for seed in range(NETWORKS):
        check_values(pipeline, network, seed)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_programs_keep_their_values(pipeline: str) -> None:
    done = 0
    for seed in range(PROGRAMS):
        try:
            check_values(pipeline, program, seed)
            done += 1
        except IrError:
            if last(pipeline) not in REFUSES:
                raise
    assert done > PROGRAMS // 3


@pytest.mark.parametrize("name", ALL)
def test_same_input_same_output(name: str) -> None:
    """Also: what prints the same is the same object."""
    for pipeline in pipelines([name]):
        for make in (network, program):
            for seed in range(6):
                module = make(seed)
                try:
                    after = irtool.run_passes(module, pipeline, opt_level=4, target=TARGET)
                except IrError:
                    continue  # refused: other tests say which pass may
                again = irtool.run_passes(module, pipeline, opt_level=4, target=TARGET)
                assert text(after) == text(again)
                if text(after) == text(module) and name not in ALWAYS_NEW:
                    assert after is module, f"{make.__name__}({seed}): nothing changed, but the module is a new one"


@pytest.mark.parametrize("pipeline", [p for p in PIPELINES if last(p) not in RUNS_AGAIN and "default" not in p])
def test_twice_is_once(pipeline: str) -> None:
    again = pipeline.split(",")[-1] if last(pipeline) in PREPARED else pipeline
    for make in (network, program):
        for seed in range(6):
            try:
                once = irtool.run_passes(make(seed), pipeline, opt_level=4, target=TARGET)
            except IrError:
                continue
            twice = irtool.run_passes(once, again, opt_level=4, target=TARGET)
            assert text(once) == text(twice), f"{make.__name__}({seed})"


def test_context_of_the_caller_is_left_alone() -> None:
    with PassContext(opt_level=1) as context:
        irtool.run_passes(network(0), "default<O3>")
        assert PassContext.current() is context
