"""What cannot be compiled: all of it, with places, before anything is written; and what is made first-order instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver import unsupported
from tests.driver.programs import parse

MANY = """
def @helper(%x: Tensor[(2), float32]) { (memory.kill(%x), %x) }
def @main(%x: Tensor[(2), float32], %y: Tensor[(2), int4], %d: Tensor[(?, 4), float32], %b: bool) {
  (@helper(%x), add(%y, %y), nn.relu(%d), memory.kill(%x), exp(%x))
}
"""


def test_everything_is_listed_with_its_place() -> None:
    diagnostics = unsupported(parse(MANY))
    messages = [d.message for d in diagnostics]
    assert sum("memory.kill cannot be compiled to C" in s for s in messages) == 2
    assert any("int4" in s for s in messages)
    assert any("not static" in s for s in messages)
    assert len(diagnostics) == 4
    assert all(d.span is not None for d in diagnostics)
    lines = sorted(d.span.source.position(d.span.start)[0] for d in diagnostics if d.span)
    assert lines == [3, 4, 4, 5]


def test_the_build_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(IrError) as caught:
        irtool.build(parse(MANY), out_dir=tmp_path / "out")
    assert {d.message for d in caught.value.diagnostics} == {d.message for d in unsupported(parse(MANY))}
    assert not (tmp_path / "out").exists()


def test_dynamic_dimensions_name_the_flag_of_each_parameter() -> None:
    diagnostics = unsupported(
        parse("def @main(%x: Tensor[(?, 8), float32], %y: Tensor[(3, ?, 4), float32]) { (%x, tanh(%y)) }")
    )
    assert [d.help for d in diagnostics] == [
        "give a shape, for example: --shape x=1,8, or bounds, up to which a run decides: --shape 'x=?<=512,8'",
        "give a shape, for example: --shape y=3,16,4, or bounds, up to which a run decides: --shape 'y=3,?<=512,4'",
    ]


@pytest.mark.parametrize(
    "text",
    [
        """
def @compose[A](%f: fn (A) -> A, %g: fn (A) -> A) -> fn (A) -> A { fn (%x: A) { %f(%g(%x)) } }
def @main(%x: Tensor[(4), float32]) {
  let %inc = fn (%z: Tensor[(4), float32]) { add(%z, 1f) };
  let %h = @compose(%inc, @compose(%inc, fn (%q: Tensor[(4), float32]) { nn.relu(%q) }));
  %h(%h(%x))
}
""",
        """
type List[A] { Cons(A, List[A]), Nil, }
def @sum(%l: List[Tensor[(4), float32]]) -> Tensor[(4), float32] {
  match (%l) { Cons(%h, %t) => add(%h, @sum(%t)), Nil => zeros(shape=[4], dtype="float32"), }
}
def @main(%x: Tensor[(4), float32]) { @sum(Cons(%x, Cons(negative(exp(%x)), Cons(%x, Nil)))) }
""",
        """
def @main(%x: Tensor[(4), float32]) {
  let %r = ref(%x);
  let %u = ref_write(%r, add(ref_read(%r), 1f));
  multiply(ref_read(%r), %x)
}
""",
    ],
)
def test_closures_data_and_references_that_are_known_are_compiled_away(text: str) -> None:
    m = parse(text)
    x = np.array([-1, 0.5, 2, 3], "float32")
    assert unsupported(m) == []
    np.testing.assert_allclose(irtool.build(m).run([x]), irtool.evaluate(m, [x]), rtol=1e-6)


def test_programs_without_a_main_are_checked_function_by_function() -> None:
    m = parse("def @one(%x: Tensor[(?), float32]) { exp(%x) } def @two(%x: Tensor[(2), float32]) { memory.kill(%x) }")
    assert len(unsupported(m)) == 2
    assert len(unsupported(m, entry="two")) == 1


@pytest.mark.parametrize("side", [4_000_000, 2_000_000_000])
def test_sizes_beyond_any_memory_are_refused(side: int, tmp_path: Path) -> None:
    m = parse(f"def @main(%x: Tensor[({side}, {side}), float32]) {{ nn.softmax(nn.softmax(%x)) }}")
    with pytest.raises(IrError) as caught:
        irtool.build(m, out_dir=tmp_path / "out")
    assert caught.value.exit_code == 1
    assert "bytes" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_what_no_memory_holds_is_named_with_its_place() -> None:
    m = parse(
        "def @main(%x: Tensor[(1048576), float32], %y: Tensor[(1048576, 1), float32]) {\n"
        "  let %z = add(%x, %y);\n  let %w = sort(%z);\n  sum(%w)\n}"
    )
    diagnostics = unsupported(m)
    assert [(d.span.line, d.message.split(" is ")[0]) for d in diagnostics] == [
        (3, "add in @main"),
        (4, "sort in @main"),
    ]


@pytest.mark.parametrize("dtype", ["float8", "int1", "int4", "int24", "uint12", "float32x4"])
def test_numbers_that_c_has_not_are_refused_where_they_stand(dtype: str) -> None:
    m = parse(f"def @main(%x: Tensor[(4), float32],\n  %z: Tensor[(4), {dtype}]) {{ exp(%x) }}")
    (diagnostic,) = unsupported(m)
    assert diagnostic.message == f"tensors of {dtype} cannot be compiled to C" and diagnostic.span.line == 3


@pytest.mark.promise("faults")
@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize(
    "text",
    [
        "qnn.requantize(qnn.dense(%x, %w, 1, 2, 0.5f, 0.25f, units=3, out_dtype='int32'), 0.125f, 0, 0.5f, 3, out_dtype='uint8')",
        "qnn.tanh(%x, 0.02f, 100, 0.008f, 128)",
        "qnn.add(%x, %x, 0.5f, 0, 0.25f, 1, 0.5f, 0)",
        "qnn.dequantize(%x, 0.25f, 3)",
    ],
)
def test_quantized_operators_are_built_at_every_level(text: str, level: int) -> None:
    m = parse(f"def @main(%x: Tensor[(1, 4), uint8], %w: Tensor[(3, 4), uint8]) {{ {text} }}".replace("'", '"'))
    x, w = np.array([[0, 7, 100, 255]], "uint8"), np.arange(12, dtype="uint8").reshape(3, 4)
    np.testing.assert_array_equal(irtool.build(m, opt_level=level).run([x, w]), irtool.evaluate(m, [x, w]))
