"""Inputs of which a model says no shape at all: commands that print show them open, a build asks for the shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from irtool import from_onnx  # noqa: E402
from irtool.diagnostics import Diagnostic, IrError  # noqa: E402
from tests import command_line  # noqa: E402


def model(nodes: list, inputs: list[str], outputs: list[str], **weights: tuple[int, ...]) -> onnx.ModelProto:
    """A model that says the element types of its inputs, and nothing more."""
    values = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in names] for names in (inputs, outputs)]
    arrays = [numpy_helper.from_array(np.ones(shape, "float32"), name) for name, shape in weights.items()]
    graph = helper.make_graph(nodes, "g", *values, arrays)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


IMAGE = model(
    [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])], ["x"], ["y"], w=(4, 3, 3, 3)
)
ROWS = model([helper.make_node("Gemm", ["x", "w"], ["y"])], ["x"], ["y"], w=(4, 5))
RECURRENT = model(
    [helper.make_node("LSTM", ["x", "w", "r"], ["y", "", ""], hidden_size=3)], ["x"], ["y"], w=(1, 12, 5), r=(1, 12, 3)
)
BOTH = model(
    [helper.make_node("Gemm", ["x", "w"], ["y"]), helper.make_node("Conv", ["z", "v"], ["c"])],
    ["x", "z"],
    ["y", "c"],
    w=(4, 5),
    v=(4, 3, 3),
)


@pytest.mark.parametrize(
    ("proto", "ranks"),
    [(IMAGE, [4]), (ROWS, [2]), (RECURRENT, [3]), (BOTH, [2, 3])],
    ids=["image", "rows", "steps", "both"],
)
def test_ranks_are_those_that_convert_and_are_said(proto: onnx.ModelProto, ranks: list[int]) -> None:
    diagnostics: list[Diagnostic] = []
    module, _ = from_onnx(proto, say=diagnostics.append, open_extents=True)
    params = module["main"].params[: len(ranks)]
    assert [len(p.checked_type.shape) for p in params] == ranks
    assert not any(isinstance(d, int) for p in params for d in p.checked_type.shape)
    notes = [d.message for d in diagnostics if "rank of the input" in d.message]
    assert len(notes) == len(ranks) and all(f": {r} is taken" in n for r, n in zip(ranks, notes, strict=True))


def test_a_given_shape_needs_no_rank() -> None:
    diagnostics: list[Diagnostic] = []
    module, _ = from_onnx(ROWS, {"x": (7, 4)}, say=diagnostics.append, open_extents=True)
    assert module["main"].params[0].checked_type.static_shape == (7, 4)
    assert not diagnostics


def test_what_fits_no_rank_is_refused_as_it_is() -> None:
    wrong = model(
        [helper.make_node("Gemm", ["w", "v"], ["k"]), helper.make_node("Add", ["k", "x"], ["y"])],
        ["x"],
        ["y"],
        w=(2, 3),
        v=(4, 5),
    )
    with pytest.raises(IrError, match="Gemm"):
        from_onnx(wrong, open_extents=True)


def test_commands_print_it_and_a_run_gives_a_line_to_paste(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(ROWS, path)
    for command in ("info", "check", "opt"):
        code, _, err = command_line.irtool(command, path)
        assert code == 0, err
        assert "the model does not say the rank of the input x: 2 is taken" in err
    code, _, err = command_line.irtool("run", path)
    assert code == 1
    assert "the model does not say the rank of the input x: its shape must be given here" in err
    option = err.partition("say, for example: ")[2].split("\n")[0].split()
    assert option[0] == "--shape"
    assert command_line.irtool("run", path, *option)[0] == 0
