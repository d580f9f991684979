"""What irtool writes as Relax, in TVM (`make test-peers`): networks, samples with control flow, and every operator."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.infer import infer_types
from irtool.interp.random_inputs import random_inputs
from irtool.ir import GlobalTypeVar, TypeCall
from irtool.ir.values import value_leaves

from .relax import build, difference, export, load, run
from .relax_cases import PLACE, compared, listing, outcomes

ROOT = Path(__file__).parent.parent.parent
SHARED = ROOT.parent / "shared"
NETWORKS = sorted(p.parent.name for p in SHARED.glob("zoo/*/expected.npz"))


@pytest.fixture(autouse=True)
def with_peers(pytestconfig: pytest.Config) -> None:
    if not pytestconfig.getoption("--peers"):
        pytest.skip("only with --peers")
    pytest.importorskip("tvm")


@pytest.mark.promise("Relax out")
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_the_zoo(name: str, tmp_path: Path) -> None:
    sys.path.insert(0, str(SHARED / "tools"))
    zoo = importlib.import_module("zoo")
    text = (SHARED / "zoo" / name / "model.relay").read_text()
    machine = build(load(export(infer_types(irtool.parse(text)), tmp_path)))
    zoo.check(name, run(machine, list(zoo.feeds(name).values())), rtol=1e-4)


PROGRAMS = sorted([*ROOT.glob("samples/*.relay"), *(ROOT / "tests/peers/relax_programs").glob("*.relay")])


@pytest.mark.promise("Relax out")
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_programs(path: Path, tmp_path: Path) -> None:
    module = infer_types(irtool.parse(path.read_text(), filename=path.name))
    if any(isinstance(p.checked_type, GlobalTypeVar | TypeCall) for p in module["main"].params):
        with pytest.raises(irtool.IrError, match="Relax has no algebraic data types"):
            export(module, tmp_path)
        return
    machine = build(load(export(module, tmp_path)))
    for seed in range(3):
        inputs = random_inputs(module["main"], seed)
        assert not difference(run(machine, inputs), value_leaves(irtool.evaluate(module, inputs)))


@pytest.mark.promise("Relax out")
def test_constants_of_every_dtype(tmp_path: Path) -> None:
    integers = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
    dtypes = ["bool", *integers, "float16", "float32", "float64"]
    params = ", ".join(f"%{d}: Tensor[(2), {d}]" for d in dtypes)
    fields = ", ".join(f"%{d}" for d in dtypes)
    program = f"def @main(%x: float32, {params}) {{\n  ({fields}, add(%x, 0.1f), add(%x, 1e30f))\n}}\n"
    module = infer_types(irtool.parse(f'#[version = "0.0.5"]\n{program}'))
    weights = {d: np.array([0, 1], d) for d in dtypes}
    one = np.float32(1)
    actual = run(build(load(export(module, tmp_path, weights))), [one])
    assert not difference(actual, [*weights.values(), one + np.float32(0.1), one + np.float32(1e30)])


@pytest.mark.promise("Relax out")
def test_operators_come_through_as_recorded() -> None:
    """The list of cases that do not is what `python -m tests.peers.relax_cases` writes."""
    assert listing(outcomes(compared())) == PLACE.read_text()
