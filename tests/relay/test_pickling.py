"""Pickled modules, expressions and types."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import irtool
from irtool import relay
from irtool.ir import Call, Let, Op, TensorType, post_order

pytestmark = pytest.mark.promise("Python API")

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.relay"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_modules_come_back_typed_and_the_same(path: Path) -> None:
    module = irtool.parse(path.read_text(), str(path))
    back = pickle.loads(pickle.dumps(module))
    assert irtool.structural_equal(module, back)
    assert irtool.to_text(back) == irtool.to_text(module)
    assert irtool.infer_types(back) is back
    assert irtool.to_text(irtool.run_passes(back, "default<O3>")) == irtool.to_text(
        irtool.run_passes(module, "default<O3>")
    )


def test_lowered_modules_come_back() -> None:
    module = irtool.run_passes(irtool.parse(SAMPLES[0].read_text()), "FuseOps,LowerTE")
    back = pickle.loads(pickle.dumps(module))
    assert irtool.to_text(back) == irtool.to_text(module)


def test_depth_is_no_limit() -> None:
    x = relay.var("x", shape=(2,))
    e = x
    for n in range(30_000):
        e = relay.nn.relu(e) if n % 3 else Let(relay.var(f"v{n}"), e, e)
    f = relay.Function([x], e)
    back = pickle.loads(pickle.dumps(f))
    assert len(post_order(back)) == len(post_order(f))
    assert irtool.structural_equal(back, f)


def test_sharing_and_operators_stay_single() -> None:
    x = relay.var("x", shape=(2,))
    y = relay.nn.relu(x)
    back = pickle.loads(pickle.dumps(relay.add(y, y)))
    assert isinstance(back, Call)
    assert back.args[0] is back.args[1]
    assert back.op is relay.op.get("add")
    assert isinstance(back.op, Op)
    assert back.span is None
    assert copy.deepcopy(x).type_annotation == x.type_annotation


def test_types_hash_alike_in_another_process() -> None:
    data = pickle.dumps(TensorType((2, 3), "int8"))
    program = (
        "import pickle, sys; from irtool.ir import TensorType; t = pickle.loads(bytes.fromhex(sys.argv[1]));"
        "assert t == TensorType((2, 3), 'int8') and hash(t) == hash(TensorType((2, 3), 'int8'))"
    )
    environment = {"PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", program, data.hex()], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
