"""Lengths that a network needs to be equal, or to be multiples: computed with one of them, checked in each run."""

from __future__ import annotations

import ctypes
import itertools
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import Diagnostic, IrError
from irtool.driver.extents import read_given
from irtool.infer import specialize
from irtool.infer.equal_lengths import solutions
from irtool.symbolic_int import Symbol, extent_of, symbolic, value_at
from tests.command_line import irtool as irtool_command
from tests.driver.programs import compile_c, parse, run

TARGETS = ["c", pytest.param("llvm", marks=pytest.mark.skipif(shutil.which("clang") is None, reason="no clang"))]
X = "%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32]"
ANY_TWO = {"x": ("a<=6", 4), "y": ("b<=9", 4)}

EQUATIONS: dict[str, tuple[str, dict[str, tuple[Any, ...]], Any]] = {
    "broadcast": (f"def @main({X}) {{ add(%x, %y) }}", ANY_TWO, lambda a, b: a == b),
    "concatenation": (f"def @main({X}) {{ concatenate((%x, %y), axis=1) }}", ANY_TWO, lambda a, b: a == b),
    "product": (
        f"def @main({X}) {{ nn.dense(transpose(%x, axes=[1, 0]), transpose(%y, axes=[1, 0]), units=4) }}",
        ANY_TWO,
        lambda a, b: a == b,
    ),
    "branches": (f"def @main({X}) {{ if (True) {{ exp(%x) }} else {{ %y }} }}", ANY_TWO, lambda a, b: a == b),
    "a number": (
        "def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(5, 4), float32]) { add(%x, %y) }",
        {"x": ("a<=6", 4), "y": (5, 4)},
        lambda a, b: a == 5,
    ),
    "joined rows": (
        f"def @main({X}) {{ add(concatenate((%x, %x), axis=0), %y) }}",
        ANY_TWO,
        lambda a, b: b == 2 * a,
    ),
    "thirds": (
        f"def @main({X}) {{ add(reshape(%x, newshape=[-1, 2]), reshape(concatenate((%y, %y, %y), axis=0), newshape=[-1, 2])) }}",
        ANY_TWO,
        lambda a, b: a == 3 * b,
    ),
    "three halves": (
        f"def @main({X}) {{ add(concatenate((%x, %x), axis=0), concatenate((%y, %y, %y), axis=0)) }}",
        ANY_TWO,
        lambda a, b: 2 * a == 3 * b,
    ),
    "rows of rows": (
        f"def @main({X}) {{ (reshape(%x, newshape=[6, -1]), exp(%y)) }}",
        ANY_TWO,
        lambda a, b: a % 3 == 0,
    ),
    "one more": (
        "def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 4), float32], %z: Tensor[(1, 4), float32]) "
        "{ add(concatenate((%x, %z), axis=0), %y) }",
        {**ANY_TWO, "z": (1, 4)},
        lambda a, b: b == a + 1,
    ),
}  # fmt: skip
"""Networks, shapes of their inputs, and the lengths that they hold for."""


def inputs_of(shapes: dict[str, tuple[Any, ...]], a: int, b: int) -> dict[str, np.ndarray]:
    g = np.random.RandomState(a * 100 + b)
    lengths = {"a": a, "b": b}
    numbers = {n: [lengths[d[0]] if isinstance(d, str) else d for d in s] for n, s in shapes.items()}
    return {n: g.randn(*s).astype("float32") for n, s in numbers.items()}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", EQUATIONS)
def test_lengths_that_fit_give_the_interpreters_values_and_others_are_errors(
    name: str, target: str, tmp_path: Path
) -> None:
    text, shapes, holds = EQUATIONS[name]
    artifact = irtool.build(parse(text), shapes=shapes, target=target, out_dir=tmp_path, name="net", vector=False)
    library = ctypes.CDLL(str(tmp_path / "net.so"))
    fitting = 0
    for a, b in itertools.product(range(1, 7), (*range(1, 10), 10)):
        if shapes["y"] == (5, 4) and b != 5:
            continue
        inputs = inputs_of(shapes, a, b)
        lengths = [a] if shapes["y"] == (5, 4) else [a, b]
        outputs = [np.full(1000, 7.25, "float32") for _ in range(2 if "{ (" in text else 1)]
        code = library.net_run(
            *map(ctypes.c_int64, lengths), *(x.ctypes.data_as(ctypes.c_void_p) for x in (*inputs.values(), *outputs))
        )
        if holds(a, b) and b <= 9:
            fitting += 1
            module = parse(text.replace("(?", f"({a}", 1).replace("(?", f"({b}", 1))
            expected = irtool.evaluate(module, inputs)
            results = artifact.run(inputs)
            for e, r, o in zip(
                *((v if isinstance(v, tuple) else (v,)) for v in (expected, results)), outputs, strict=True
            ):
                np.testing.assert_allclose(r, e, rtol=1e-5, atol=1e-5)
                np.testing.assert_allclose(o[: r.size], r.ravel(), rtol=1e-5, atol=1e-5)
                assert (o[r.size :] == 7.25).all()
            assert code == 0
        else:
            assert code in (4, 8) and all((o == 7.25).all() for o in outputs), (a, b)
            with pytest.raises(IrError):
                artifact.run(inputs)
    assert fitting


def test_the_error_has_a_name_and_the_message_both_inputs(tmp_path: Path) -> None:
    artifact = irtool.build(parse(EQUATIONS["broadcast"][0]), shapes=ANY_TWO, out_dir=tmp_path, name="net", emit="so")
    header = (tmp_path / "net.h").read_text()
    assert "#define NET_UNEQUAL_LENGTHS 8\n" in header and "without b == a." in header
    assert "int net_run(int64_t a, int64_t b, const float *x, const float *y, float *out);" in header
    message = r"b must be a in @main, and a = 3, b = 2: %x is \[a, 4\], %y is \[b, 4\]"
    for copy in (artifact, irtool.load(tmp_path), pickle.loads(pickle.dumps(artifact))):
        with pytest.raises(ValueError, match=message):
            copy.run(inputs_of(ANY_TWO, 3, 2))
        assert copy.run(inputs_of(ANY_TWO, 3, 3)).shape == (3, 4)


def test_test_benches_and_programs_have_lengths_that_fit(tmp_path: Path) -> None:
    text, shapes, _ = EQUATIONS["three halves"]
    irtool.build(parse(text), shapes=shapes, out_dir=tmp_path, name="net", emit="c", testbench=True)
    done = run(compile_c(tmp_path, "bench", "net_test.c", "net.c"))
    assert (done.returncode, done.stdout) == (0, "passed: 0 elements differ\n")
    program = irtool.build(parse(text), shapes=shapes, out_dir=tmp_path / "exe", name="net", emit="exe")
    assert program.run(inputs_of(shapes, 6, 4)).shape == (12, 4)


def test_the_cache_tells_bounds_of_equal_lengths_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for high, is_cached in ((7, False), (7, True), (9, False)):
        artifact = irtool.build(
            parse(EQUATIONS["broadcast"][0]),
            shapes={"x": ("a<=6", 4), "y": (f"b<={high}", 4)},
            vector=False,
            cache=True,
        )
        assert artifact.cached == is_cached
        with pytest.raises(ValueError):
            artifact.run(inputs_of(ANY_TWO, 2, 3))


def test_what_no_lengths_mend_is_refused_as_before() -> None:
    for text, shapes, message in (
        ("{ add(%x, reshape(%y, newshape=[-1, 3])) }", ANY_TWO, "do not broadcast"),
        ("{ concatenate((%x, %y), axis=1) }", {"x": ("a<=3", 4), "y": ("4<=b<=9", 4)}, "which is not concatenated"),
        ("{ reshape(%x, newshape=[25]) }", ANY_TWO, "cannot take the shape"),
        ("{ exp(nn.dense(%x, %y, units=7, unitz=3)) }", ANY_TWO, "unitz"),
    ):
        with pytest.raises(IrError, match=message):
            irtool.build(parse(f"def @main({X}) {text}"), shapes=shapes, emit="c")


def test_a_length_that_can_be_no_other_is_1() -> None:
    artifact = irtool.build(parse(EQUATIONS["broadcast"][0]), shapes={"x": ("a<=3", 4), "y": ("4<=b<=9", 4)})
    for b in (4, 9):
        inputs = inputs_of(ANY_TWO, 1, b)
        np.testing.assert_allclose(artifact.run(inputs), inputs["x"] + inputs["y"], rtol=1e-6)
        with pytest.raises(IrError, match="axis 0 is 1 and 2"):
            artifact.run(inputs_of(ANY_TWO, 2, b))


def test_each_equation_is_noted_at_its_place() -> None:
    notes: list[Diagnostic] = []
    m = parse(f"def @main({X}) {{\n  %0 = add(%x, %y);\n  reshape(%0, newshape=[6, -1])\n}}")
    shapes, _ = read_given(ANY_TWO, {})
    specialize(m, "main", shapes, warn=notes.append)
    assert [d.message for d in notes] == [
        "a is from 1 to 6 in each run, or the shapes do not fit",
        "b is a in each run, or the shapes do not fit",
        "a is from 3 to 6, in steps of 3 in each run, or the shapes do not fit",
    ][-len(notes) :]
    assert [
        d.span.position(d.span.start)[0] if hasattr(d.span, "position") else d.location.split(":")[1] for d in notes
    ]


def test_solutions_satisfy_their_equation() -> None:
    symbols = [Symbol("a", 1, 12), Symbol("b", 2, 20, 2), Symbol("c", 1, 6)]
    a, b, c = (extent_of(s) for s in symbols)
    for left, right in (
        (a, b),
        (2 * a, 3 * c),
        (a // 3 * 3, a),
        (a * c, b * c),
        (a + b, 2 * c + 4),
        (4 * a, 24),
        (b, 7),
    ):
        for solution in solutions(left, right, symbols):
            used = {s: solution.get(s, extent_of(s)) for s in symbols}
            x, y = value_at(left, used), value_at(right, used)
            # A step towards a solution may leave the equation open, but no solution contradicts it.
            assert x == y or all(s.name in {t.name for t in d.symbols()} for s, d in solution.items())
    assert list(solutions(b, 7, symbols)) == [] and list(solutions(symbolic("n", 1, 4), 9, [])) == []


def test_the_command_line_notes_equations(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text('#[version = "0.0.5"]\n' + EQUATIONS["broadcast"][0] + "\n")
    options = ["--shape", "x=a<=6,4", "--shape", "y=b<=6,4"]
    code, _, messages = irtool_command("build", path, *options, "-o", tmp_path / "out", "--emit=c")
    assert code == 0 and "b is a in each run, or the shapes do not fit" in messages
    code, out, _ = irtool_command("run", path, *options)
    assert code == 0, out
