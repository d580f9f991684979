"""Constant folding has one budget for a module: bytes are counted, not seconds."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.ir import Constant, Module, post_order
from irtool.passes.core.bind import bind_params
from irtool.passes.core.folding_budget import MOST_BYTES, FoldingBudget

PASSES = ("FoldConstant", "DynamicToStatic", "ToANormalForm,PartialEvaluate", "FoldConstant,FoldConstant")
V = '#[version = "0.0.5"]\n'
ROW = '%r = arange(0f, 8000f, 1f, start=0f, stop=8000f, step=1f, dtype="float32")'


def many(call: str, count: int = 12, before: str = ROW) -> str:
    """A function that returns `call` for so many numbers, `#` in it."""
    lines = [f"  %{n} = {call.replace('#', str(n))};" for n in range(count)]
    before = before.replace("%r", f"%{count}")
    lines = [line.replace("%r", f"%{count}") for line in lines]
    return (
        V
        + "def @main() {\n  "
        + before
        + ";\n"
        + "\n".join(lines)
        + f"\n  ({', '.join(f'%{n}' for n in range(count))})\n}}\n"
    )


SHAPE = '%r = concatenate((reshape(cast(8000, dtype="int64"), newshape=[1]), reshape(cast(1000, dtype="int64"), newshape=[1])), axis=0)'
BOMBS = {
    "repeat": many("repeat(%r, repeats=100#, axis=0)"),
    "tile": many("tile(%r, reps=[100#])"),
    "broadcast_to": many("broadcast_to(%r, shape=[100#, 8000])"),
    "full": many('full(0.5f, shape=[100#, 8000], dtype="float32")', before="%r = 0f"),
    "arange": many(
        'arange(0f, 8000000f, 1f, start=0f, stop=8000000f, step=1f, dtype="float32")', before="%r = 0f"
    ),
    "dyn.zeros": many('dyn.zeros(%r, shape=None, dtype="float32")', before=SHAPE),
    "dyn.ones": many('dyn.ones(%r, shape=None, dtype="float32")', before=SHAPE),
    "dyn.full": many('dyn.full(#.5f, %r, shape=None, dtype="float32")', before=SHAPE),
    "dyn.broadcast_to": many("dyn.broadcast_to(#.5f, %r, shape=None)", before=SHAPE),
    "outer sums": many("add(reshape(%r, newshape=[8000, 1]), multiply(%r, #.5f))"),
    "one_hot": many('one_hot(cast(%r, dtype="int32"), 1f, #f, depth=100#, axis=-1, dtype="float32")'),
    "pad": many("nn.pad(%r, 0f, pad_width=[[0, 800000#]])"),
    "doubling": V
    + "def @main() {\n  "
    + ROW.replace("%r", "%0")
    + ";\n"
    + "\n".join(f"  %{n + 1} = concatenate((%{n}, %{n}), axis=0);" for n in range(20))
    + "\n  %20\n}\n",
}  # fmt: skip


def constant_bytes(m: Module) -> int:
    data = {
        id(e.data): e.data.nbytes  # type: ignore[union-attr]
        for f in m.functions.values()
        for e in post_order(f)  # type: ignore[arg-type]
        if isinstance(e, Constant)
    }
    return sum(data.values())


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("passes", PASSES)
def test_few_words_do_not_make_many_bytes(name: str, passes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what the functions of numpy return on the way: a call that stays was not evaluated."""
    sizes = []
    admits = FoldingBudget.admits

    def counted(self: FoldingBudget, *arguments: object) -> bool:
        before = self.result_bytes
        answer = admits(self, *arguments)  # type: ignore[arg-type]
        sizes.append(self.result_bytes - before)
        return answer

    monkeypatch.setattr(FoldingBudget, "admits", counted)
    module = irtool.run_passes(irtool.infer_types(irtool.parse(BOMBS[name])), passes)
    rounds = passes.count(",") + 1
    assert constant_bytes(module) <= rounds * MOST_BYTES
    assert sum(sizes) <= 2 * rounds * MOST_BYTES


def test_functions_of_a_module_share_it() -> None:
    one = BOMBS["repeat"].removeprefix(V)
    text = V + "".join(one.replace("@main", f"@f{n}" if n else "@main") for n in range(4))
    assert constant_bytes(irtool.run_passes(irtool.parse(text), "FoldConstant")) <= MOST_BYTES


def test_weights_are_folded_however_large() -> None:
    """What takes their place is not what the budget is for: casts, transposes, scales."""
    text = f"""{V}def @main(%x: Tensor[(1, 4096), float32], %w: Tensor[(5000, 4096), int8]) {{
      %0 = multiply(cast(%w, dtype="float32"), 0.5f);
      %1 = add(transpose(%0, axes=[1, 0]), 1f);
      nn.dense(%x, transpose(%1, axes=[1, 0]), units=5000)
    }}"""
    w = np.ones((5000, 4096), "int8")
    bound = bind_params(irtool.parse(text), {"w": w})
    after = irtool.run_passes(bound, "FoldConstant")
    assert [e.data.nbytes for e in post_order(after.functions["main"]) if isinstance(e, Constant)] == [5000 * 4096 * 4]  # type: ignore[arg-type,union-attr]


def test_nodes_of_an_onnx_model_share_it() -> None:
    """Each is made of a few words, and has fewer elements than what is always left a call."""
    onnx = pytest.importorskip("onnx")
    from onnx import helper, numpy_helper

    nodes = [helper.make_node("Expand", ["one", "shape"], [f"y{n}"]) for n in range(40)]
    nodes += [helper.make_node("Neg", [f"y{n}"], [f"z{n}"]) for n in range(40)]
    names = [f"z{n}" for n in range(40)]
    outputs = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [1000, 1000]) for n in names]
    known = {"one": np.ones((), "float32"), "shape": np.array([1000, 1000], "int64")}
    weights = [numpy_helper.from_array(a, n) for n, a in known.items()]
    model = helper.make_model(
        helper.make_graph(nodes, "g", [], outputs, weights), opset_imports=[helper.make_opsetid("", 17)]
    )
    module = irtool.from_onnx(model.SerializeToString())
    module = module[0] if isinstance(module, tuple) else module
    assert constant_bytes(module) <= MOST_BYTES
