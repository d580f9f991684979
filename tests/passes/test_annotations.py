"""Annotations of buffers in loop nests: read, printed, kept by other passes, turned into code by the pass that looks for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import InternalError
from irtool.interp.nests.run import run_nest
from irtool.ir.meta import LoweredText
from irtool.passes import PassContext, passes
from irtool.tir.expr import Load, Var, const
from irtool.tir.stmt import (
    VECTORIZED,
    Allocate,
    Annotate,
    Buffer,
    For,
    If,
    Let,
    Prefetch,
    PrimFunc,
    Stmt,
    Store,
    pre_order,
    seq,
    without_annotations,
)
from irtool.tir.verify import find_problems, verify
from irtool.tir_passes.prim_func_pass import PrimFuncPass
from irtool.tir_passes.transforms.inject_double_buffer import inject_double_buffers
from irtool.tir_passes.transforms.inject_prefetch import inject_prefetches

ROWS = """#[version = "0.0.5"]
@f = primfn(x_1: handle, out_1: handle) -> ()
  attr = {"global_symbol": "f", "tir.noalias": True}
  buffers = {x: Buffer(x_2: Pointer(float32), float32, [64, 16], []),
             out: Buffer(out_2: Pointer(float32), float32, [64], [])}
  buffer_map = {x_1: x, out_1: out} {
  for (i: int32, 0, 64) {
    out[i] = 0f32
    attr [x] "prefetch_scope" = 4;
    for (j: int32, 0, 16) {
      out[i] = (out[i] + x[i, j])
    }
  }
}

def @main(%x: Tensor[(64, 16), float32]) -> Tensor[(64), float32] {
  call_lowered(@f, (%x,))
}
"""
NAMES = sorted({c.name for c in passes if issubclass(c, PrimFuncPass) and c.name.startswith("tir.")})
X = np.random.default_rng(0).uniform(-1, 1, (64, 16)).astype("float32")


def nest_of(module: irtool.Module) -> PrimFunc:
    (f,) = (f for f in module.functions.values() if isinstance(f, PrimFunc))
    return f


def annotations(f: PrimFunc) -> list[Annotate]:
    return [s for s in pre_order(f.body) if isinstance(s, Annotate)]


def places(f: PrimFunc) -> list[str]:
    return [repr(s.place) for s in pre_order(f.body) if isinstance(s, Prefetch)]


def injected(body: Stmt, *params: Buffer) -> tuple[list[str], list[str]]:
    """The places that are asked for, and why others are not."""
    reasons: list[str] = []
    f = PrimFunc("f", params, body)
    rewritten = inject_prefetches(f, lambda _, reason: reasons.append(reason))
    assert not annotations(rewritten)
    assert not list(find_problems(rewritten))
    return places(rewritten), reasons


def test_they_are_read_and_printed() -> None:
    module = irtool.parse(ROWS)
    (a,) = annotations(nest_of(module))
    assert (a.buffer.name, a.key, a.value.value) == ("x", "prefetch_scope", 4)
    nest_of(module).written = ""
    text = irtool.to_text(module)
    assert 'attr [x] "prefetch_scope" = 4;\n' in text
    assert irtool.structural_equal(irtool.parse(text), module)
    braces = ROWS.replace("= 4;", "= 4 {").replace("    }\n  }", "    } }\n  }")
    by_memory = ROWS.replace("attr [x]", "attr [x_2]")
    for same in (braces, by_memory):
        assert irtool.structural_equal(irtool.parse(same)["f"], module["f"])
    assert not irtool.structural_equal(irtool.parse(ROWS.replace("= 4;", "= 5;"))["f"], module["f"])


def test_what_is_not_known_stays_text_or_is_an_error() -> None:
    for text in (ROWS.replace("prefetch_scope", "thread_extent"), ROWS.replace("attr [x]", "attr [IterVar(i)]")):
        assert isinstance(irtool.parse(text)["f"], LoweredText)
    for wrong in ("= i;", "= 1f32;", "4;"):
        with pytest.raises(irtool.IrError):
            irtool.parse(ROWS.replace("= 4;", wrong))
    f = PrimFunc("f", [], Annotate(Buffer("t", (1,)), "prefetch_scope", 1, seq([])), 0)
    with pytest.raises(InternalError, match="an annotation of t, which is not declared there"):
        verify(f)


@pytest.mark.parametrize("name", NAMES)
def test_every_pass_leaves_a_well_formed_nest(name: str) -> None:
    """Annotations of parameters, and of memory that passes move, shrink and share."""
    x, out = Buffer("x", (64, 16)), Buffer("out", (64,))
    i, j, k = Var("i"), Var("j"), Var("k")
    t, u, unread = Buffer("t", (64, 16)), Buffer("u", (64, 16)), Buffer("unread", (64, 16))
    fill = For(j, 16, seq([Store(t, (i, j), x[i, j] * 2.0), Store(unread, (i, j), x[i, j])]))
    more = For(k, 4, Store(u, (i, k), t[i, k + 1]), VECTORIZED)
    rest = Annotate(unread, "prefetch_scope", 1, Annotate(u, "prefetch_scope", 1, Store(out, (i,), u[i, 3])))
    inner = seq([Annotate(x, "prefetch_scope", 2, fill), Annotate(t, "prefetch_scope", 1, more), rest])
    body = For(i, 64, Allocate(unread, Allocate(t, Allocate(u, inner))))
    f = PrimFunc("f", [x, out], body)
    assert not list(find_problems(f))
    rewritten = passes.find(name)().transform(f, irtool.Module({"f": f}), PassContext.current())
    assert not list(find_problems(rewritten))
    np.testing.assert_array_equal(run_nest(rewritten, [X])[0], run_nest(f, [X])[0])


def test_they_leave_no_trace_in_code(tmp_path: Path) -> None:
    plain = "".join(line for line in ROWS.splitlines(keepends=True) if "attr [" not in line)
    texts = []
    for n, text in enumerate((ROWS, plain)):
        folder = tmp_path / str(n)
        irtool.build(irtool.parse(text), emit="c", out_dir=folder)
        texts.append(next(folder.glob("*.c")).read_text())
    assert texts[0] == texts[1]
    f = nest_of(irtool.parse(ROWS))
    bare = f.with_body(without_annotations(f.body))
    assert annotations(f) and not annotations(bare) and not list(find_problems(bare))


def test_prefetches_in_c_and_llvm(tmp_path: Path, quick_compiles: None) -> None:
    module = irtool.run_passes(irtool.parse(ROWS), "InjectPrefetch")
    assert places(nest_of(module)) == ["x[(i + 4), 0]"]
    np.testing.assert_allclose(irtool.evaluate(module, [X]), X.sum(1), rtol=1e-4, atol=1e-5)
    artifact = irtool.build(module, out_dir=tmp_path / "c")
    np.testing.assert_allclose(artifact.run([X]), X.sum(1), rtol=1e-4, atol=1e-5)
    irtool.build(module, emit="c", out_dir=tmp_path / "source")
    source = next((tmp_path / "source").glob("*.c")).read_text()
    assert "__builtin_prefetch" in source
    assert "  irt_prefetch(x, (i * 16) + 64);" in source
    irtool.build(module, target="llvm", emit="ll", out_dir=tmp_path / "llvm")
    assert "call void @llvm.prefetch.p0(" in next((tmp_path / "llvm").glob("*.ll")).read_text()


def test_which_lines_are_asked_for() -> None:
    """A line holds the last axes, as far as they are whole; of a longer part each line is prefetched."""
    i, j, k = Var("i"), Var("j"), Var("k")
    out = Buffer("out", (8,))

    def over(x: Buffer, *indices: object, extents: tuple[int, int]) -> list[str]:
        store = Store(out, (i,), x[indices].astype("float32"))
        loops = For(j, extents[0], For(k, extents[1], store))
        return injected(For(i, 8, Annotate(x, "prefetch_scope", 1, loops)), x, out)[0]

    small = Buffer("s", (8, 4, 4))
    assert over(small, i, j, k, extents=(4, 4)) == ["s[(i + 1), 0, 0]"], "sixteen numbers are a line"
    bytes_ = Buffer("b", (8, 4, 4), "int8")
    assert over(bytes_, i, j, k, extents=(4, 4)) == ["b[(i + 1), 0, 0]"]
    rows = Buffer("r", (8, 4, 32))
    assert over(rows, i, j, k, extents=(4, 8)) == ["r[(i + 1), line, 0]"], "part of each row"
    assert over(rows, i, j, k, extents=(4, 32)) == ["r[(i + 1), line, (line * 16)]"], "all of each row"
    wide = Buffer("w", (8, 4, 32), "float64")
    assert over(wide, i, j, k + 3, extents=(1, 9)) == ["w[(i + 1), 0, ((line * 8) + 3)]"]


def test_what_moves_inside_a_step_is_not_guessed() -> None:
    i, j, t = Var("i"), Var("j"), Var("t")
    x, n, out = Buffer("x", (64,)), Buffer("n", (8,), "int32"), Buffer("out", (8,))

    def scope(indices: object) -> Annotate:
        return Annotate(x, "prefetch_scope", 2, Store(out, (i,), x[indices]))

    assert injected(For(i, 8, scope(i * 8)), x, out) == (["x[((i * 8) + 16)]"], [])
    unknown = "it is not known which part of x is read"
    assert injected(For(i, 8, Let(t, i * 8, scope(t))), x, out) == ([], [unknown])
    index = const(0) + n[i].astype("int32")
    clipped = Load(x, ((index % 64),))
    data = Annotate(x, "prefetch_scope", 2, Store(out, (i,), clipped))
    assert injected(For(i, 8, data), x, n, out) == ([], [unknown])
    assert injected(Annotate(x, "prefetch_scope", 2, Store(out, (const(0),), x[3])), x, out) == (
        [],
        ["no loop is around it"],
    )
    lanes = For(j, 8, For(i, 8, scope(j * 8 + i)), VECTORIZED)
    assert injected(lanes, x, out)[0] == ["x[((i + (line * 16)) + 2)]"], "all lanes of the vector at once"
    outside = For(i, 8, Let(t, i * 8, For(j, 8, Annotate(x, "prefetch_scope", 1, Store(out, (j,), x[t + j])))))
    assert injected(outside, x, out) == (["x[((t + j) + 1)]"], []), "what is bound around the loop stays"


def test_a_prefetch_may_lie_beyond_its_buffer_but_reads_no_index_there() -> None:
    x, n, out = Buffer("x", (4,)), Buffer("n", (4,), "int32"), Buffer("out", (4,))
    i = Var("i")

    def problems(place: Load) -> list[str]:
        body = For(i, 4, seq([Prefetch(place), Store(out, (i,), x[i])]))
        return list(find_problems(PrimFunc("f", [x, n, out], body)))

    assert not problems(Load(x, (i + 4,)))
    assert not problems(Load(x, (n[i],)))
    assert problems(Load(x, (n[i + 4],)))
    assert problems(Load(x, (i, i)))
    assert problems(Load(Buffer("y", (4,)), (i,)))
    assert problems(Load(x, (i.astype("float32"),)))


def test_the_next_statement_is_the_body_of_an_annotation() -> None:
    """As in TVM's texts: what follows that is outside."""
    text = ROWS.replace("    out[i] = 0f32\n", "").replace("  }\n}\n\ndef", "    out[i] = (out[i]*2f32)\n  }\n}\n\ndef")
    module = irtool.parse(text)
    (a,) = annotations(nest_of(module))
    assert isinstance(a.body, For) and a.body.var.name == "j"
    nest_of(module).written = ""
    assert irtool.structural_equal(irtool.parse(irtool.to_text(module)), module)
    x, out, t, i = Buffer("x", (4,)), Buffer("out", (4,)), Var("t", "float32"), Var("i")
    bound = Annotate(x, "prefetch_scope", 1, Let(t, x[i], Store(out, (i,), t)))
    scratch = Buffer("scratch", (1,))
    annotation = Annotate(x, "prefetch_scope", 1, Allocate(scratch, Store(scratch, (const(0),), x[i])))
    f = PrimFunc("f", [x, out], For(i, 4, seq([bound, annotation, Store(out, (i,), x[i])])))
    call = "\ndef @main(%x: Tensor[(4), float32]) { call_lowered(@f, (%x,)) }\n"
    again = irtool.parse(irtool.to_text(irtool.Module({"f": f})) + call)
    assert again["f"].structural_words()[:-1] == f.structural_words()[:-1], (
        "what has no end of its own stands in braces"
    )


TILE, COUNT = 4, 5


def tiled(fill: object = None, use: object = None, kind: str = "serial", where: str = "inside") -> PrimFunc:
    """Tiles that are filled from `x`, and used; parts of it are others where they are given."""
    x, out, t = Buffer("x", (TILE * COUNT,)), Buffer("out", (TILE * COUNT,)), Buffer("t", (TILE,))
    i, j, k = Var("i"), Var("j"), Var("k")
    filled = For(j, TILE, Store(t, (j,), x[i * TILE + j])) if fill is None else fill(x, out, t, i, j)
    used = For(k, TILE, Store(out, (i * TILE + k,), t[k] + t[TILE - 1 - k])) if use is None else use(x, out, t, i, k)
    scope = Annotate(t, "double_buffer_scope", 1, filled)
    if where == "outside":
        return PrimFunc("f", [x, out], Allocate(t, For(i, COUNT, seq([scope, used]), kind)))
    if where == "under a condition":
        scope = If(i < 3, scope)
    elif where == "under a let":
        return PrimFunc("f", [x, out], For(i, COUNT, Allocate(t, Let(Var("u"), i * 2, seq([scope, used])))))
    elif where == "in no loop":
        return PrimFunc("f", [x, out], Let(i, const(0), Allocate(t, seq([scope, used]))))
    return PrimFunc("f", [x, out], For(i, COUNT, Allocate(t, seq([scope, used])), kind))


def doubled(f: PrimFunc, split: int = 1) -> tuple[PrimFunc, list[str]]:
    reasons: list[str] = []
    rewritten = inject_double_buffers(f, split, lambda _, reason: reasons.append(reason))
    assert not annotations(rewritten) and not list(find_problems(rewritten))
    values = np.arange(TILE * COUNT, dtype="float32")
    np.testing.assert_array_equal(run_nest(rewritten, [values])[0], run_nest(f, [values])[0])
    return rewritten, reasons


@pytest.mark.parametrize("split", [0, 1, 2, 4, 6])
def test_both_halves_hold_what_one_did(split: int) -> None:
    """For each number of steps at a time, more than the loop has included."""
    rewritten, reasons = doubled(tiled(), split)
    assert not reasons
    (buffer,) = (s.buffer for s in pre_order(rewritten.body) if isinstance(s, Allocate))
    assert buffer.shape == (2 * TILE,)


def test_what_must_wait_is_not_filled_ahead() -> None:
    """A part of the loop that the last step decides on, or that other statements take part in."""

    def of_out(x: Buffer, out: Buffer, t: Buffer, i: Var, j: Var) -> Stmt:
        return For(j, TILE, Store(t, (j,), out[((i + 4) % COUNT) * TILE + j] + x[j]))

    def of_itself(x: Buffer, out: Buffer, t: Buffer, i: Var, j: Var) -> Stmt:
        return seq([For(j, TILE, Store(t, (j,), x[j])), Store(t, (const(0),), t[1])])

    def elsewhere(x: Buffer, out: Buffer, t: Buffer, i: Var, j: Var) -> Stmt:
        return seq([For(j, TILE, Store(t, (j,), x[j])), Store(out, (i,), x[i])])

    def again(x: Buffer, out: Buffer, t: Buffer, i: Var, k: Var) -> Stmt:
        return seq([Store(t, (const(1),), x[i]), For(k, TILE, Store(out, (i * TILE + k,), t[k]))])

    def nothing(x: Buffer, out: Buffer, t: Buffer, i: Var, k: Var) -> Stmt:
        return Store(out, (i,), x[i])

    cases = [
        (tiled(of_out), "it reads out, which is of each step of the loop"),
        (tiled(of_itself), "it reads t"),
        (tiled(elsewhere), "it stores to other buffers than t, or to none"),
        (tiled(use=again), "t is stored to outside of it"),
        (tiled(use=nothing), "nothing reads t"),
        (tiled(kind="parallel"), "the loop of i is not serial, or has no constant extent"),
        (tiled(where="outside"), "t is not allocated in the loop of i"),
        (tiled(where="under a condition"), "not every step of the loop of i comes to it"),
        (tiled(where="under a let"), "not every step of the loop of i comes to it"),
        (tiled(where="in no loop"), "no loop is around it"),
    ]
    for f, reason in cases:
        assert doubled(f)[1] == [reason]


def test_two_halves_in_c(quick_compiles: None) -> None:
    text = (Path(__file__).parents[1] / "golden/tir/InjectDoubleBuffer/rows.relay").read_text()
    module = irtool.parse(text)
    x = np.random.default_rng(0).uniform(-1, 1, (6, 2, 4)).astype("float32")
    rewritten = irtool.run_passes(module, "InjectDoubleBuffer,FlattenBuffer,Simplify")
    np.testing.assert_array_equal(irtool.build(rewritten).run([x]), irtool.evaluate(module, [x]))
