"""SimplifyExprPostAlterOp drops clips and casts only where no value changes; recast counts layers as its manual says."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Call, Expr, Function, Module, TensorType, Var, post_order
from irtool.ops.base import call

DTYPES = ("int8", "uint8", "int16", "int32", "float16", "float32")
BOUNDS = ((0.0, 255.0), (-128.0, 127.0), (-1.0, 2049.0), (0.5, 254.5), (-(2.0**31), 2.0**31), (9.0, 3.0))


def edges(dtype: str) -> np.ndarray:
    near = [0, 1, 2.5, 127, 128, 254.5, 255, 256, 2048, 2049, 2050, 65535]
    if dtype.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array([*near, *(-v for v in near if v), np.inf, -np.inf], dtype)
    limits = np.iinfo(dtype)
    values = {int(v) for v in near} | {-int(v) for v in near} | {limits.min, limits.max}
    return np.array(sorted(v for v in values if limits.min <= v <= limits.max), dtype)


@pytest.mark.parametrize("source", DTYPES)
def test_clips_and_casts_keep_every_value(source: str) -> None:
    values = edges(source)
    functions = {}
    for i, (least, most) in enumerate(BOUNDS):
        for middle in DTYPES:
            for target in DTYPES:
                x = Var("x", TensorType(values.shape, source))
                clip = call("clip", x, a_min=least, a_max=most)
                e = call("cast", call("cast", clip, dtype=middle), dtype=target)
                functions[f"f{i}_{middle}_{target}"] = Function((x,), e)
    before = irtool.infer_types(Module(functions))
    after = irtool.run_passes(before, "SimplifyExprPostAlterOp")
    with np.errstate(all="ignore"):
        for name in functions:
            a, b = (irtool.evaluate(m, [values], entry=name) for m in (before, after))
            np.testing.assert_array_equal(a, b, err_msg=name)
    casts = [sum(isinstance(e, Call) for e in post_order(f)) for f in after.functions.values()]
    assert any(count < 3 for count in casts)


def test_layers_are_counted_from_the_inputs() -> None:
    x = Var("x", TensorType((2, 4), "float32"))
    weights = [Var(f"w{i}", TensorType((4, 4), "float32")) for i in range(3)]
    e: Expr = x
    for w in weights:
        e = call("nn.relu", call("nn.dense", e, w, units=4))
    module = irtool.infer_types(Module({"main": Function((x, *weights), e)}))
    for skipped, stay in (([], ()), ([0], (0,)), ([-1], (2,)), ([1, 2], (1, 2)), ([7], ())):
        options = f'{{dtype=float16 out_dtype=float32 ops=["nn.dense"] skip_layers={skipped}}}'
        rewritten = irtool.run_passes(module, f"recast{options}")
        layers = [e for e in post_order(rewritten["main"]) if isinstance(e, Call) and e.op_name == "nn.dense"]
        assert tuple(i for i, e in enumerate(layers) if e.attrs.out_dtype != "float32") == stay
