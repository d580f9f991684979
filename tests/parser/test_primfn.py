"""Loop nests in a text: read, verified with places, and printed again as they were."""

from pathlib import Path

import pytest

import irtool
from irtool.ir.meta import LoweredText
from irtool.parser import read_with_diagnostics
from irtool.printer.text import VERSION
from irtool.tir.stmt import Allocate, For, PrimFunc, Store, pre_order
from irtool.tir.verify import find_problems

SHARED = Path(__file__).parents[3] / "shared"
SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.relay"))

KERNELS = {
    "reduction": "def @main(%x: Tensor[(3, 5), float32]) { nn.softmax(%x) }",
    "padding": """def @main(%x: Tensor[(1, 2, 5, 5), float32], %w: Tensor[(3, 2, 3, 3), float32]) {
        nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=3, kernel_size=[3, 3])) }""",
    "several results": "def @main(%x: Tensor[(4, 6), float32]) { split(%x, indices_or_sections=3, axis=1) }",
    "indices from data": "def @main(%x: Tensor[(5, 3), float32], %i: Tensor[(4), int32]) { take(%x, %i, axis=0) }",
    "a nest of its own": 'def @main(%x: Tensor[(3, 8), float32]) { argsort(%x, axis=1, dtype="int32") }',
    "a scan": "def @main(%x: Tensor[(3, 8), int64]) { cumsum(%x, axis=1) }",
    "a scalar": "def @main(%x: float64) { tanh(%x) }",
    "small integers": 'def @main(%x: Tensor[(3), uint8]) { cast(right_shift(%x, cast(2, dtype="uint8")), dtype="int8") }',
    "brain floats": 'def @main(%x: Tensor[(3), bfloat16]) { multiply(%x, cast(0.5f, dtype="bfloat16")) }',
    "bools": "def @main(%x: Tensor[(3), bool], %y: Tensor[(3), bool]) { logical_not(logical_or(%x, %y)) }",
    "no elements": "def @main(%x: Tensor[(0, 3), float32]) { nn.relu(%x) }",
    "data decide how often": """def @main(%x: Tensor[(1, 4, 6), float32]) {
        vision.get_valid_counts(%x, 0.5f, score_threshold=0.5f) }""",
}


def lowered(text: str) -> irtool.Module:
    return irtool.run_passes(irtool.parse(VERSION + text if not text.startswith("#[") else text), "FuseOps,LowerTE")


def printed_anew(module: irtool.Module) -> str:
    """The text of a module whose nests have forgotten the text that they were read from."""
    for f in module.functions.values():
        if isinstance(f, PrimFunc):
            f.written = ""
    return irtool.to_text(module)


@pytest.mark.promise("lowered text")
@pytest.mark.parametrize("name", [*KERNELS, *(p.name for p in SAMPLES)])
def test_what_is_written_reads_back_as_nests(name: str) -> None:
    text = KERNELS[name] if name in KERNELS else next(p for p in SAMPLES if p.name == name).read_text()
    try:
        module = lowered(text)
    except irtool.IrError:
        assert name not in KERNELS
        pytest.skip("it cannot be lowered before it is compiled")
    text = irtool.to_text(module)
    again = irtool.parse(text)
    assert sorted(module) == sorted(again)
    for name, f in module.functions.items():
        g = again[name]
        assert type(f) is type(g)
        if isinstance(g, PrimFunc):
            assert g.checked_type == f.checked_type and g.num_outputs == f.num_outputs
            assert [b.shape for b in g.original_params] == [b.shape for b in f.original_params]
            assert not list(find_problems(g))
    assert irtool.structural_equal(module, again)
    assert printed_anew(again) == text


@pytest.mark.skipif(not SHARED.is_dir(), reason="TVM's samples are not here")
@pytest.mark.parametrize("name", ["add", "softmax", "mlp_matmul", "reduce"])
def test_nests_of_tvm(name: str) -> None:
    """What TVM writes for a CPU, but for its vectors, is a nest here; names are told from the numbers behind them."""
    module = irtool.parse((SHARED / f"formats/lowered/{name}.lowered.txt").read_text())
    nests = [f for f in module.functions.values() if isinstance(f, PrimFunc)]
    texts = [f for f in module.functions.values() if isinstance(f, LoweredText)]
    assert nests or texts
    again = irtool.parse(printed_anew(module))
    assert irtool.structural_equal(module, again)


NEST = """@double = primfn(x_1: handle, out_1: handle) -> ()
  attr = {"global_symbol": "double", "tir.noalias": True, "target": Target(id=7e90, kind='llvm', keys={'cpu'}), "n": [1, 2.5f64, {"k": None}]}
  buffers = {x: Buffer(x_2: Pointer(float32), float32, [8], []),
             out: Buffer(out_2: Pointer(float32), float32, [8], [])}
  buffer_map = {x_1: x, out_1: out} {
  for (i: int32, 0, 8) {
    out[i] = (x[i]*2f32)
  }
}
"""


def test_what_a_person_writes() -> None:
    """Loops that begin elsewhere, signs without parentheses, blocks, other kinds of loops."""
    body = """
  allocate(t: Pointer(global float32), float32, [8]), storage_scope = global {
    for (i: int32, 0, 4) "vectorized" {
      t_1: Buffer(t, float32, [8], [])[i] = x[i] + x[i]*3f32 - -1f32
    }
    for (j: int32, 4, 4) "parallel" {
      if i_is_never_here > j && j <= 7 {
        t_1[j] = select((j % 2) == 0, x[j], -x[j])
      } else {
        t_1[j] = @tir.fabs(x[j], dtype=float32)
      }
    }
    { let k: int32 = (3 / 2)
      out[k] = t_1[k] }
    while (out[0] < 3f32) {
      out[0] = (out[0] + 1f32)
    }
  }
}
"""
    head = NEST[: NEST.index("  for (i")]
    text = head + body.replace("i_is_never_here", "9").lstrip("\n")
    module = irtool.parse(VERSION + text)
    f = module["double"]
    assert isinstance(f, PrimFunc)
    kinds = [s.kind for s in pre_order(f.body) if isinstance(s, For)]
    assert kinds == ["vectorized", "parallel"]
    assert [s.buffer.name for s in pre_order(f.body) if isinstance(s, Allocate)] == ["t"]
    stores = [s for s in pre_order(f.body) if isinstance(s, Store)]
    assert repr(stores[0]) == "t[i] = ((x[i] + (x[i] * 3.0)) - -1.0)"
    assert "[(j + 4)]" in repr(stores[1]), "a loop begins at 0"
    assert f.attrs["n"] == (1, 2.5, {"k": None}) and f.attrs["target"].fields["kind"] == "llvm"
    again = irtool.parse(printed_anew(module))
    assert irtool.structural_equal(again, irtool.parse(printed_anew(again)))


BROKEN = {
    "x[j]": ("x[i]", "j is not defined here", "7:17"),
    "(x[i]*2i64)": ("(x[i]*2f32)", "operands have one dtype", "7:19"),
    "(x[i: int32]*2f32)": ("(x[i]*2f32)", "i is declared again", "7:17"),
    "y[i] =": ("out[i] =", "y is no buffer that is declared here", "7:5"),
    "out[i, i] =": ("out[i] =", "out has 1 axes, not 2", "7:5"),
    "x[(i + 1)]": ("x[i]", "runs from 1 to 8 of 8", "7:5"),
    "(x[i]*2f32) 3": ("(x[i]*2f32)", "expected a statement, found '3'", "7:26"),
    "(x[i]*": ("(x[i]*2f32)", "expected an expression, found '}'", "8:3"),
    "for (i: int32, 0, 8f32)": ("for (i: int32, 0, 8)", "counts in int32, its bounds are float32", "6:3"),
    "for (i: int32 0, 8)": ("for (i: int32, 0, 8)", "expected ',', found '0'", "6:17"),
    "attr = {1: 2}": ("attr = {", "expected the name of an attribute", "2:11"),
    "3000000000i32": ("2f32", "does not fit in int32", "7:20"),
    "x[i] ? 2": ("x[i]*2f32", "unexpected character '?'", "7:20"),
    "cast(float32, x[i], 1)": ("(x[i]*2f32)", "cast takes 1 arguments, not 2", "7:14"),
}


@pytest.mark.promise("lowered text")
@pytest.mark.parametrize("wrong", BROKEN)
def test_mistakes_have_places(wrong: str) -> None:
    right, message, place = BROKEN[wrong]
    assert right in NEST
    text = NEST.replace(right, wrong, 1)
    module, diagnostics = read_with_diagnostics(text, "a.relay")
    errors = [d for d in diagnostics if d.level == "error"]
    assert module is None and len(errors) == 1, diagnostics
    assert message in errors[0].message
    assert errors[0].span is not None and errors[0].span.location == f"a.relay:{place}"


def test_calls_tell_what_is_a_result() -> None:
    call = "\ndef @main(%x: Tensor[(8), float32]) { call_lowered(@double, (%x,)) }\n"
    module, diagnostics = read_with_diagnostics(NEST.replace("out[i] = ", "x[i] = ") + call, "a.relay")
    (error,) = [d for d in diagnostics if d.level == "error"]
    assert module is None and "a store to x, which is an input" in error.message
    assert error.span is not None and error.span.location == "a.relay:7:5"


def test_what_nests_here_have_not_is_kept_as_text() -> None:
    threads = NEST.replace(
        "  for (i: int32, 0, 8)", '  attr [IterVar(i: int32)] "thread_extent" = 8;\n  for (j: int32, 0, 8)'
    )
    module, diagnostics = read_with_diagnostics(VERSION + threads, "a.relay")
    assert module is not None and isinstance(module["double"], LoweredText)
    (warning,) = [d for d in diagnostics if "double" in d.message]
    assert warning.level == "warning" and "an annotation is of something other than a buffer" in warning.message
    assert warning.span is not None and warning.span.location == "a.relay:7:3"
    assert irtool.to_text(module) == VERSION + threads


def test_reads_that_nothing_keeps_inside_are_not_run() -> None:
    """Such a function may be right; it is kept as text, so that it is neither run nor compiled."""
    text = NEST.replace("float32, [8]", "int32, [8]").replace("Pointer(float32)", "Pointer(int32)")
    text = text.replace("(x[i]*2f32)", "x[x[i]]")
    module, diagnostics = read_with_diagnostics(VERSION + text, "a.relay")
    assert module is not None and isinstance(module["double"], LoweredText)
    assert any("comes from data" in d.message for d in diagnostics)


def test_deep_text() -> None:
    """Nothing recurses: neither over parentheses nor over loops."""
    deep = NEST.replace("(x[i]*2f32)", "(" * 20_000 + "x[i]" + "*2f32)" * 20_000)
    module = irtool.parse(VERSION + deep)
    assert isinstance(module["double"], PrimFunc)
    blocks = NEST.replace("    out[i]", "if True {" * 5_000 + "    out[i]").replace("2f32)", "2f32)" + "}" * 5_000)
    assert isinstance(irtool.parse(VERSION + blocks)["double"], PrimFunc)


def test_long_shared_values_are_named_only_where_they_are_evaluated() -> None:
    """What stands under a condition may read outside of its buffer where that does not hold."""
    text = "def @main(%x: Tensor[(4), float32]) {\n  %0 = add(%x, %x);\n"
    for n in range(8):
        text += f"  %{n + 1} = multiply(%{n}, %{n});\n"
    text += "  nn.pad(%8, 0f, pad_width=[[1, 1]])\n}\n"
    module = lowered(text)
    again = irtool.parse(irtool.to_text(module))
    assert printed_anew(again) == irtool.to_text(module)
    nest = next(f for f in again.functions.values() if isinstance(f, PrimFunc))
    assert not list(find_problems(nest))
