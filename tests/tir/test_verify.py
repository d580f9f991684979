"""The verifier of loop nests finds each kind of mistake, and none in what is lowered and scheduled."""

import gzip
import json
from pathlib import Path

import pytest

import irtool
from irtool.diagnostics import InternalError, IrError
from irtool.driver.prepare import is_dynamic, prepare
from irtool.lower import lower_module
from irtool.schedule import VectorTarget, schedule_program
from irtool.te import clip_index, wrap_index
from irtool.tir import expr as te
from irtool.tir.stmt import Allocate, Buffer, For, If, Let, PrimFunc, Seq, Store, While
from irtool.tir.verify import find_problems, verify

HERE = Path(__file__).parent
SAMPLES = sorted((HERE.parent.parent / "samples").glob("*.relay"))
CORPUS = HERE.parent.parent.parent / "shared" / "corpus" / "run.jsonl.gz"

MACHINES = [VectorTarget(0), VectorTarget(32, 16), VectorTarget(64, 32)]

I = te.Var("i")
X, Y, OUT = Buffer("x", (8,)), Buffer("y", (4,)), Buffer("out", (8,))
ZERO = te.const(0.0, "float32")


def nest(body, *params) -> PrimFunc:
    return PrimFunc("f", params or (X, OUT), body)


def loop(body, extent: int = 8, kind: str = "serial") -> For:
    return For(I, extent, body, kind)


COPY = Store(OUT, (I,), X[I])
N, M = Buffer("n", (8,), "int32"), Buffer("m", (8,), "int32")
AT = te.Var("at", "int32")


J = te.Var("j")


def from_data(index) -> For:
    return loop(Store(OUT, (I,), X[index]))


def rows(begin, end, index) -> For:
    """Reads of `index` for j from 0 to end - begin, in a loop whose number of iterations data says."""
    return loop(For(J, end - begin, Store(OUT, (I,), X[index])), 7)


FIRST, LAST = clip_index(N[I], 9), clip_index(N[I + 1], 9)


@pytest.mark.promise("indices from data")
@pytest.mark.parametrize(
    "body",
    [
        from_data(clip_index(N[I], 8)),
        from_data(wrap_index(N[I], 8)),
        from_data(te.floormod(N[I], 4) + I // 2),
        loop(Let(AT, clip_index(N[I], 7), Store(OUT, (I,), X[AT + 1]))),
        loop(Let(AT, N[I], If(te.all_of([AT >= 0, AT < 8]), Store(OUT, (I,), X[AT])))),
        loop(Store(OUT, (I,), te.if_then_else(te.less(N[I], 8), X[N[I]], ZERO))),
        Allocate(M, Seq([loop(Store(M, (I,), 7 - I)), from_data(M[I])])),
        loop(Store(OUT, (I,), X[N[I]]), extent=0),
        from_data(te.select(te.less(N[I], 8), 7 - I, I)),
        rows(FIRST, LAST, FIRST + J),
        rows(FIRST, LAST, te.floormod(FIRST + J, 8)),
        loop(Let(AT, FIRST, For(J, LAST - AT, Store(OUT, (I,), X[AT + J]))), 7),
    ],
)
def test_an_index_from_data_that_is_kept_within(body):
    verify(nest(body, X, N, OUT))


@pytest.mark.promise("indices from data")
@pytest.mark.parametrize(
    "body",
    [
        from_data(N[I]),
        from_data(clip_index(N[I], 9)),
        from_data(clip_index(N[I], 8) - 1),
        loop(Let(AT, N[I] + 1, Store(OUT, (I,), X[AT]))),
        loop(Store(OUT, (I,), te.if_then_else(te.not_equal(N[I], 8), X[N[I]], ZERO))),
        loop(Store(OUT, (I,), te.select(te.less(N[I], 8), X[N[I]], ZERO))),
        loop(If(te.less(I, 7), Store(OUT, (N[I],), ZERO))),
        Allocate(M, Seq([loop(Store(M, (I,), N[I])), from_data(M[I])])),
        rows(FIRST, LAST + 1, FIRST + J),
        rows(FIRST, LAST, FIRST + J + 1),
        rows(FIRST, LAST, LAST + J),
        rows(FIRST, LAST, FIRST + J * 2),
        Allocate(M, Seq([loop(Store(M, (I,), N[I])), rows(FIRST, clip_index(M[I + 1], 9), clip_index(M[I], 9) + J)])),
    ],
)
def test_an_index_from_data_that_is_not(body):
    with pytest.raises(InternalError, match="comes from data, and nothing keeps it below 8"):
        verify(nest(body, X, N, OUT))


@pytest.mark.parametrize(
    "body",
    [
        loop(COPY),
        loop(COPY, kind="vectorized"),
        loop(Store(OUT, (I,), te.if_then_else(te.less(I, 7), X[I + 1], ZERO))),
        loop(If(te.less(I, 7), Store(OUT, (I + 1,), X[I]))),
        loop(Allocate(Y, Seq([Store(Y, (I % 4,), X[I]), Store(OUT, (I,), Y[I // 2])]))),
        loop(Let(v := te.Var("v", "float32"), X[I], Store(OUT, (I,), v))),
        loop(COPY, extent=0),
    ],
)
def test_what_is_well_formed(body):
    verify(nest(body))


@pytest.mark.parametrize(
    "body, problem",
    [
        (COPY, "the variable i is not bound"),
        (Seq([loop(COPY), COPY]), "the variable i is used outside of its binding"),
        (loop(loop(COPY)), "i is bound again"),
        (loop(Store(OUT, (I,), Y[I // 2])), "a load from y, which is not declared"),
        (
            Seq([Allocate(Y, Store(Y, (te.const(0),), ZERO)), Store(Y, (te.const(0),), ZERO)]),
            "a store to y, which is not",
        ),
        (loop(Store(X, (I,), ZERO)), "a store to x, which is an input"),
        (loop(Store(OUT, (I,), te.const(1, "int32"))), "int32 is stored in out, which is float32"),
        (loop(Store(OUT, (I,), X[I + 1])), "index 0 of x, .* runs from 1 to 8 of 8"),
        (loop(Store(OUT, (I - 1,), ZERO)), "index 0 of out, .* runs from -1 to 6 of 8"),
        (loop(Store(OUT, (te.const(8),), ZERO)), "index 0 of out, 8, runs from 8 to 8"),
        (loop(Store(OUT, (I, I), ZERO)), "out has 1 axes, but 2 indices"),
        (loop(Store(OUT, (te.const(1.0, "float32"),), ZERO)), "the index .* of out is float32"),
        (loop(Store(OUT, (I,), te.Binary("+", X[I], te.const(1), "float32"))), "is float32 of float32 and int32"),
        (loop(Store(OUT, (I,), te.Select(I, X[I], ZERO, False))), "by a int32"),
        (loop(If(I, COPY)), "the condition i is int32"),
        (While(te.const(1), loop(COPY)), "the condition 1 is int32"),
        (loop(Let(te.Var("v", "int64"), X[I], COPY)), "v is int64, its value float32"),
        (loop(COPY, kind="sideways"), "the loop of i is 'sideways'"),
        (For(te.Var("n"), 8, loop(COPY, te.Var("n"))), "the variable n is not bound"),
        (loop(Allocate(X, COPY)), "the buffer x is allocated twice"),
        (loop(Store(OUT, (I,), te.Cast(te.Const(300, "uint8"), "float32"))), "the constant 300 is no uint8"),
    ],
)
def test_each_mistake(body, problem):
    with pytest.raises(InternalError, match=problem):
        verify(nest(body))


def kernels(module):
    """Every kernel as it is lowered, and as each machine gets it; nothing where the module cannot be compiled."""
    try:
        prepared = prepare(module)
        if is_dynamic(prepared):
            return
        yield from lower_module(prepared).kernels
    except IrError:
        return
    for machine in MACHINES:
        program = lower_module(prepared)
        schedule_program(program, machine)
        yield from program.kernels


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_kernels_of_the_samples(path):
    module = irtool.infer_types(irtool.parse(path.read_text(), filename=path.name))
    for kernel in kernels(module):
        assert not list(find_problems(kernel)), kernel


@pytest.mark.skipif(not CORPUS.is_file(), reason="no corpus beside the checkout")
def test_kernels_of_corpus_cases():
    seen = 0
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        for n, line in enumerate(lines):
            if n % 12:
                continue
            case = json.loads(line)
            for kernel in kernels(irtool.infer_types(irtool.parse(case["source"]))):
                assert not list(find_problems(kernel)), (case["id"], kernel)
                seen += 1
    assert seen > 100
