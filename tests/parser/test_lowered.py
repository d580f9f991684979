"""Lowered functions in a text: kept as they stand, and typed by their buffers."""

from pathlib import Path

import pytest

import irtool
from irtool.ir import FuncType, TensorType, TupleType
from irtool.ir.structural import structural_equal
from irtool.parser.lowered import buffers

VERSION = '#[version = "0.0.5"]\n'

SPLIT = """@split = primfn(p0_1: handle, a_1: handle, b_1: handle) -> ()
  attr = {"global_symbol": "split"}
  buffers = {p0: Buffer(p0_2: Pointer(float32), float32, [24], []),
             a: Buffer(a_2: Pointer(float32), float32, [12], []),
             b: Buffer(b_2: Pointer(int8), int8, [12], [])}
  buffer_map = {p0_1: p0, a_1: a, b_1: b}
  preflattened_buffer_map = {b_1: b_3: Buffer(b_2, int8, [4, 3], []), p0_1: p0_3: Buffer(p0_2, float32, [4, 6], [])} {
  a[0] = p0[0]
}
"""

MAIN = """
def @main(%x: Tensor[(4, 6), float32]) {
  %0 = (%x,);
  %1 = call_lowered(@split, %0, metadata={"all_prim_fn_vars"=['split']});
  %1.1
}
"""

SAMPLES = sorted((Path(__file__).parents[3] / "shared/formats/lowered").glob("*.lowered.txt"))


def test_the_buffers_in_the_order_of_the_parameters() -> None:
    text = SPLIT[SPLIT.index("primfn") :]
    assert buffers(text) == [
        TensorType((4, 6), "float32"),
        TensorType((12,), "float32"),
        TensorType((4, 3), "int8"),
    ], "the shape before flattening, where it is told"


def test_a_call_has_the_type_of_the_buffers_that_are_left() -> None:
    m = irtool.parse(VERSION + SPLIT + MAIN)
    assert m["main"].body.checked_type == TensorType((4, 3), "int8")
    assert m["main"].body.tuple.checked_type == TupleType((TensorType((12,), "float32"), TensorType((4, 3), "int8")))
    assert isinstance(m["split"].checked_type, FuncType)


def test_comments_group_results_into_tuples() -> None:
    stated = "/* ty=((Tensor[(12), float32],), Tensor[(4, 3), int8]) */"
    m = irtool.parse(VERSION + SPLIT + MAIN.replace("['split']});", f"['split']}}) {stated};"))
    first, second = m["split"].checked_type.ret_type.fields
    assert first == TupleType((TensorType((12,), "float32"),)) and second == TensorType((4, 3), "int8")


def test_comments_group_arguments_into_tuples() -> None:
    pair = "(Tensor[(4, 6), float32], Tensor[(24), float32])"
    text = MAIN.replace("(%x,);", f"((%x, %y),) /* ty=({pair},) */;").replace("%x: ", "%y: Tensor[(24), float32], %x: ")
    head = SPLIT.replace("p0_1: handle, a_1: handle", "p0_1: handle, p1_1: handle").replace("a_1: a", "p1_1: p0")
    m = irtool.parse(VERSION + head + text.replace("%1.1", "%1"))
    assert m["split"].checked_type.arg_types[0].fields[1] == TensorType((24,), "float32")


def test_arguments_of_another_shape_are_refused() -> None:
    with pytest.raises(irtool.IrError, match="6"):
        irtool.parse(VERSION + SPLIT + MAIN.replace("(4, 6)", "(4, 7)"))


def test_without_buffers_nothing_is_known() -> None:
    bare = "@split = primfn(x: handle) -> () {\n  x[0] = 1\n}\n"
    with pytest.raises(irtool.IrError, match="cannot be inferred"):
        irtool.infer_types(irtool.parse(VERSION + bare + MAIN))


KEPT = """@f = primfn(x_1: handle, y_1: handle, out_1: handle) -> ()
  buffers = {x: Buffer(x_2: Pointer(float32), float32, [], []), y: Buffer(y_2: Pointer(float32), float32, [], []),
             out: Buffer(out_2: Pointer(DTYPE), DTYPE, [SHAPE], [])}
  buffer_map = {x_1: x, y_1: y, out_1: out} {
  out[0] = @unheard(x, y)
}
"""
HEAD = "def @main(%x: float32, %y: float32, %t: (float32, float32)) -> float32"


@pytest.mark.parametrize("function", [KEPT, KEPT.replace("x_1: x", "x_1: out"), KEPT.replace(", y_1: y", "")])
@pytest.mark.parametrize("dtype", ["float32", "uint32"])
@pytest.mark.parametrize("shape", ["", "n", "2"])
@pytest.mark.parametrize(
    "body",
    [
        "%0 = (%x, %y); call_lowered(@f, %0)",
        "%0 = ((%x,), %y); call_lowered(@f, %0)",
        "%0 = (%t,); call_lowered(@f, %0)",
        "call_lowered(@f, %t)",
        "let %p = (%x, %y); call_lowered(@f, %p)",
        "%0 = (%x, %y); add(%x, call_lowered(@f, %0))",
    ],
)
def test_a_text_reads_alike_with_types_and_without(function: str, dtype: str, shape: str, body: str) -> None:
    text = VERSION + function.replace("DTYPE", dtype).replace("SHAPE", shape) + f"{HEAD} {{ {body} }}"
    try:
        m = irtool.parse(text)
    except irtool.IrError:
        return
    for types in ("all", "none"):
        again = irtool.parse(irtool.to_text(m, types=types))
        assert irtool.to_text(again, types=types) == irtool.to_text(m, types=types)


def test_tuples_of_arguments_group_without_comments() -> None:
    function = KEPT.replace("DTYPE", "float32").replace("SHAPE", "")
    m = irtool.parse(f"{VERSION}{function}{HEAD} {{ %0 = ((%x,), %y); call_lowered(@f, %0) }}")
    scalar = TensorType((), "float32")
    assert m["f"].checked_type == FuncType((TupleType((scalar,)), scalar), scalar)


def test_parameters_of_one_dimension_stay_beside_those_that_were_flattened() -> None:
    nest = irtool.parse(VERSION + SPLIT + MAIN)["split"]
    assert [b.shape for b in nest.original_params] == [(4, 6), (12,), (4, 3)]


@pytest.mark.skipif(not SAMPLES, reason="TVM's samples are not here")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.name)
def test_lowered_modules_of_the_peer(path: Path) -> None:
    text = path.read_text()
    m = irtool.parse(text)
    assert m["main"].body.checked_type is not None
    assert irtool.to_text(m, metadata=False).split("\n/* ")[0] == text.split("\n/* For debugging")[0]
    again = irtool.to_text(m)
    assert structural_equal(irtool.parse(again), m) and irtool.to_text(irtool.parse(again)) == again
