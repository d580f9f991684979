"""Builds with states whose lengths steps change: caches of a decoder, and others; and lengths that all steps share."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError
from irtool.driver.artifact import Artifact
from irtool.driver.instance import OtherState
from irtool.driver.lengths import StateFull, WrongLength
from tests.driver import decoder
from tests.driver.programs import compile_c, parse, run

pytestmark = pytest.mark.promise("growing states")

CAPACITY = 32
STEPS = 1000
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
TARGETS = ["c", "c{openmp=true}", "c{vector=none}", pytest.param("llvm", marks=needs_clang)]

GROWING = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %past: Tensor[(?, 4), float32]) { %0 = BODY }"""
BODIES = {
    "written": ("concatenate((%past, %x), axis=0); (sum(%0, axis=[0]), %0)", False),
    "twice": ("concatenate((%past, %x, exp(%x)), axis=0); (sum(%0, axis=[0]), %0)", False),
    "rows of the past": (
        "concatenate((%past, add(%x, sum(%past, axis=[0], keepdims=1))), axis=0); (max(%past, axis=[0]), %0)",
        False,
    ),
    "in front": ("concatenate((%x, %past), axis=0); (sum(%0, axis=[0]), %0)", True),
    "changed": ("tanh(concatenate((%past, %x), axis=0)); (sum(%0, axis=[0]), %0)", True),
}
"""Next values of `%past`, and whether a step copies them."""


def growing(name: str, target: str = "c", **options: Any) -> tuple[Artifact, Artifact]:
    """The build that takes and gives the state, and the one that keeps it."""
    module = parse(GROWING.replace("BODY", BODIES[name][0]))
    stateless = irtool.build(module, target=target, shapes={"x": ("n<=4", 4), "past": ("0<=p<=16", 4)})
    options = {"shapes": {"x": ("n<=4", 4), "past": ("p<=16", 4)}, "states": {"past": "out1"}, "name": "net", **options}
    return stateless, irtool.build(module, target=target, **options)


def steps_of(count: int) -> list[np.ndarray]:
    """Rows for a number of steps, from one to three each."""
    return [np.random.RandomState(k).randn(1 + k % 3, 4).astype("float32") for k in range(count)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", BODIES)
def test_steps_give_the_bits_of_the_network_without_states(name: str, target: str) -> None:
    stateless, artifact = growing(name, target)
    assert [s["copied"] for s in artifact.report["states"]] == [BODIES[name][1]]
    instance, past = artifact.instance(), np.zeros((0, 4), "float32")
    refused = 0
    for x in steps_of(60):
        try:
            got = instance.step([x])
        except StateFull:
            refused += 1
            instance.reset()
            got, past = instance.step([x]), past[:0]
        expected, past = stateless.run([x, past])
        np.testing.assert_array_equal(got, expected)
    assert refused > 2


def decoders(target: str = "c", **options: Any) -> tuple[Artifact, Artifact]:
    """A decoder that takes and gives its caches, and one that keeps them."""
    module, weights = decoder.module("1", "1"), decoder.weights()
    dims = {"past": f"0<=past<={CAPACITY - 1}", "total": "past+1"}
    stateless = irtool.build(module, weights, target, dims=dims)
    options = {"dims": {**dims, "past": f"<={CAPACITY}"}, "states": "auto", "name": "net", **options}
    return stateless, irtool.build(module, weights, target, **options)


@pytest.mark.parametrize("target", TARGETS)
def test_a_decoder_keeps_its_caches(target: str) -> None:
    """The bits of the decoder that takes and gives the caches, word by word; when they are full, it begins anew."""
    stateless, artifact = decoders(target)
    states = artifact.report["states"]
    assert [(s["shape"], s["copied"]) for s in states] == [([1, 2, CAPACITY, 8], False)] * 4
    assert artifact.report["state_lengths"] == [{"name": "past", "next": "(past + 1)", "capacity": CAPACITY}]
    instance, caches = artifact.instance(), decoder.caches()
    for n in range(STEPS if target == "c" else 2 * CAPACITY):
        past = n % CAPACITY
        if n and not past:
            with pytest.raises(StateFull, match=r"\(past \+ 1\) would be 33, and at most 32 is possible"):
                instance.step(decoder.inputs(n, CAPACITY))
            instance.reset()
            caches = decoder.caches()
        values = decoder.inputs(n, past)
        np.testing.assert_array_equal(instance.step(values), decoder.stateless_step(stateless, values, caches))


def test_a_decoder_takes_several_words_at_once() -> None:
    """Words in a first step, as a prompt, then one by one: the values of the interpreter-checked network without states."""
    module, weights = decoder.module("b", "n"), decoder.weights()
    dims = {"past": "0<=past<=31", "n": "<=8", "b": "<=2", "total": "past+n"}
    stateless = irtool.build(module, weights, dims=dims)
    artifact = irtool.build(module, weights, dims={**dims, "past": "<=32"}, states="auto")
    for batch in (1, 2):
        instance, caches, past = artifact.instance(), decoder.caches(batch), 0
        for n, step in enumerate((7, 1, 1, 3, 8, 1)):
            values = decoder.inputs(n, past, step, batch)
            np.testing.assert_array_equal(instance.step(values), decoder.stateless_step(stateless, values, caches))
            past += step
        with pytest.raises(WrongLength, match=rf"b is {3 - batch} in this step of @main, and was {batch}"):
            instance.step(decoder.inputs(0, past, 1, 3 - batch))
        with pytest.raises(WrongLength, match="axis 3"):
            instance.step(decoder.inputs(0, past - 1, 1, batch))


def test_a_refused_step_changes_nothing() -> None:
    _, artifact = growing("written")
    instance = artifact.instance()
    instance.step(steps_of(3)[2:])
    for _ in range(4):
        instance.step(steps_of(3)[2:])
    saved = instance.save()
    with pytest.raises(StateFull):
        instance.step(steps_of(3)[2:])
    assert instance.save() == saved
    instance.step(steps_of(1))
    assert instance.save() != saved


@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_clang)])
def test_saved_states_have_their_position(target: str) -> None:
    _, artifact = decoders(target)
    first, second = artifact.instance(), artifact.instance()
    for n in range(5):
        first.step(decoder.inputs(n, n))
    second.step(decoder.inputs(9, 0))
    second.restore(first.save())
    for n in range(5, 9):
        values = decoder.inputs(n, n)
        np.testing.assert_array_equal(first.step(values), second.step(values))
    other = growing("written", target)[1].instance()
    for wrong in (other.save(), first.save()[:-1], bytes(len(first.save()))):
        with pytest.raises(OtherState):
            first.restore(wrong)
    assert first.save() == second.save()


def test_a_capacity_tells_saved_states_apart() -> None:
    """States of one shape in memory of another capacity are not those of this network."""
    text = GROWING.replace("BODY", BODIES["in front"][0])
    saved = [
        irtool.build(parse(text), shapes={"x": (1, 4), "past": (f"p<={n}", 4)}, states={"past": "out1"}).instance()
        for n in (8, 9)
    ]
    with pytest.raises(OtherState):
        saved[0].restore(saved[1].save())


def test_threads_have_instances_of_their_own() -> None:
    _, artifact = decoders()
    saved: dict[int, bytes] = {}

    def steps(k: int) -> None:
        instance = artifact.instance()
        for n in range(20):
            instance.step(decoder.inputs(k + n, n))
        saved[k] = instance.save()

    threads = [threading.Thread(target=steps, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(3):
        alone = artifact.instance()
        for n in range(20):
            alone.step(decoder.inputs(k + n, n))
        assert alone.save() == saved[k]


def test_builds_that_were_saved_have_their_lengths(tmp_path: Path) -> None:
    _, artifact = growing("changed")
    artifact.save(tmp_path)
    first, second = artifact.instance(), irtool.load(tmp_path).instance()
    for x in steps_of(6):
        np.testing.assert_array_equal(first.step([x]), second.step([x]))
    with pytest.raises(StateFull):
        second.step([np.zeros((4, 4), "float32")])
        second.step([np.zeros((4, 4), "float32")])


def test_a_length_that_all_steps_share() -> None:
    text = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %h: Tensor[(?, 4), float32]) { %0 = tanh(add(%x, %h)); (exp(%0), %0) }"""
    artifact = irtool.build(parse(text), shapes=dict.fromkeys("xh", ("batch<=8", 4)), states={"h": "out1"})
    instance, h = artifact.instance(), np.zeros((3, 4), "float32")
    x = np.full((3, 4), 0.5, "float32")
    stateless = irtool.build(parse(text), shapes=dict.fromkeys("xh", ("batch<=8", 4)))
    for _ in range(3):
        expected, h = stateless.run([x, h])
        np.testing.assert_array_equal(instance.step([x]), expected)
    with pytest.raises(WrongLength, match="batch is 2 in this step of @main, and was 3 in the steps before"):
        instance.step([x[:2]])
    instance.reset()
    instance.step([x[:2]])


def test_extents_that_passes_find_out() -> None:
    """An exporter reshapes by shapes: the type of the next value is open until passes have settled it."""
    pytest.importorskip("onnx")
    text = decoder.text("1", "1").replace("kh1 = Transpose", "kh_1 = Transpose")
    text = text.replace("  present_1_key = ", "  size = Shape(kh_1)\n  kh1 = Reshape(kh_1, size)\n  present_1_key = ")
    module, weights = irtool.from_onnx(text.encode())[0], decoder.weights()
    dims = {"past": "0<=past<=7", "total": "past+1"}
    stateless = irtool.build(module, weights, dims=dims)
    instance = irtool.build(module, weights, dims={**dims, "past": "<=8"}, states="auto").instance()
    caches = decoder.caches()
    for n in range(8):
        values = decoder.inputs(n, n)
        np.testing.assert_array_equal(instance.step(values), decoder.stateless_step(stateless, values, caches))


MAIN = """
#include "net.h"
#include <stdio.h>
#include <string.h>

static struct net_net nets[2];
static unsigned char saved[NET_STATE_SIZE], arena[NET_ARENA_SIZE];

int main(void) {
  float x[NET_X_MAX_SIZE], first[NET_OUT_SIZE], out[NET_OUT_SIZE];
  int k;
  for (k = 0; k < (int)NET_X_MAX_SIZE; ++k) x[k] = 0.25f * (float)k;
  if (net_init(&nets[0]) || net_init(&nets[1]) || nets[0].p != 0) return 1;
  for (k = 0; k < 5; ++k)
    if (net_step(&nets[0], 3, x, first) || nets[0].p != 3 * (k + 1)) return 2;
  memcpy(out, first, sizeof out);
  if (net_step(&nets[0], 2, x, out) != NET_STATE_FULL || nets[0].p != 15) return 3;
  if (net_step(&nets[0], 5, x, out) != NET_OUT_OF_BOUNDS || memcmp(out, first, sizeof out)) return 4;
  if (net_state(&nets[0], saved, NULL) || net_step(&nets[0], 1, x, first) || nets[0].p != 16) return 5;
  if (net_step(&nets[0], 1, x, out) != NET_STATE_FULL || net_state(&nets[1], NULL, saved)) return 6;
  if (net_step_with(arena, sizeof arena, &nets[1], 1, x, out) || memcmp(out, first, sizeof out)) return 7;
  nets[1].p = -1;
  if (net_step(&nets[1], 1, x, out) != NET_OUT_OF_BOUNDS) return 8;
  nets[1].p = INT64_MAX;
  if (net_step(&nets[1], 1, x, out) != NET_OUT_OF_BOUNDS) return 9;
  puts("ok");
  return 0;
}
"""


@pytest.mark.parametrize("name", ["written", "changed"])
def test_the_interface_in_c(name: str, tmp_path: Path) -> None:
    growing(name, out_dir=tmp_path, emit="c")
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-g", "-fsanitize=address,undefined"]
    done = run(compile_c(tmp_path, "main", "net.c", "main.c", flags=flags))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize(
    ("body", "shapes", "message"),
    [
        ("concatenate((%x, %past), axis=0); (%x, %0)", {"past": ("2<=p<=9", 4)}, "a state begins without rows"),
        ("concatenate((%x, %past), axis=0); (%x, %0)", {"past": ("p<=8:2", 4)}, "the state %past is float32[p, 4], and its next value is float32[(p + 1), 4]"),
        ('cast(%past, dtype="float64"); (%x, %0)', {"past": ("p<=8", 4)}, "the state %past is float32[p, 4], and its next value"),
        ("sum(%past, axis=[0]); (%x, %0)", {"past": ("p<=8", 4)}, "and its next value"),
        ("concatenate((%past, %past), axis=1); (%x, %0)", {"past": ("p<=8", 4)}, "the state %past is float32[p, 4], and"),
    ],
)  # fmt: skip
def test_states_that_no_instance_can_keep(body: str, shapes: dict[str, Any], message: str) -> None:
    text = GROWING.replace("BODY", body).replace("%x: Tensor[(?, 4)", "%x: Tensor[(1, 4)")
    with pytest.raises(IrError) as caught:
        irtool.build(parse(text), shapes=shapes, states={"past": "out1"})
    assert message in str(caught.value)


def test_a_state_with_a_length_begins_without_rows() -> None:
    module = parse(GROWING.replace("BODY", BODIES["written"][0]))
    with pytest.raises(IrError, match="begins without values"):
        irtool.build(
            module,
            {"past": np.ones((2, 4), "float32")},
            shapes={"x": (1, 4), "past": ("p<=8", 4)},
            states={"past": "out1"},
        )


def test_a_capacity_is_asked_for() -> None:
    """Without a bound of its length, a state has no memory of a fixed size."""
    module = parse(GROWING.replace("BODY", BODIES["written"][0]))
    with pytest.raises(IrError, match=r"the state %past is .*: its memory needs a bound for each extent"):
        irtool.build(module, shapes={"x": (1, 4)}, states={"past": "out1"})


@pytest.mark.parametrize("name", ["written", "in front"])
def test_the_test_bench_takes_steps_while_there_is_room(name: str, tmp_path: Path) -> None:
    growing(name, out_dir=tmp_path, emit="c", testbench=True)
    text = (tmp_path / "net_test.c").read_text()
    assert text.count("net_init(&instance)") == 3
    assert text.count("code = net_step(") > 6
    done = run(compile_c(tmp_path, "test", "net.c", "net_test.c"))
    assert done.returncode == 0, done.stdout


def test_the_program_takes_the_steps_in_its_files(tmp_path: Path) -> None:
    """A file has the values of all steps, which are longer from step to step where a shape has the position."""
    module = parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %mask: Tensor[(?), float32], %past: Tensor[(?, 4), float32]) {
  %0 = concatenate((%past, %x), axis=0); (multiply(%mask, sum(%0, axis=[1])), %0) }""")
    options: dict[str, Any] = {
        "shapes": {"mask": ("p+1",), "past": ("p<=8", 4)},
        "states": {"past": "out1"},
        "name": "net",
    }
    irtool.build(module, emit="exe", out_dir=tmp_path, **options)
    rows = [{"x": np.full((1, 4), n, "float32"), "mask": np.arange(n + 1, dtype="float32")} for n in range(5)]
    for name in ("x", "mask"):
        (tmp_path / f"{name}.raw").write_bytes(b"".join(r[name].tobytes() for r in rows))
    done = run(tmp_path / "net", "x.raw", "mask.raw", "out.raw")
    assert done.returncode == 0, done.stderr
    instance = irtool.build(module, **options).instance()
    assert (tmp_path / "out.raw").read_bytes() == b"".join(instance.step(r).tobytes() for r in rows)


def test_the_interpreter_takes_steps() -> None:
    """Steps of the interpreter and of compiled code agree, and both refuse the step for which there is no room."""
    from irtool.driver.extents import with_given_extents
    from irtool.driver.state_lengths import with_state_lengths
    from irtool.driver.states import with_states
    from irtool.interp.steps import Steps

    module = parse(GROWING.replace("BODY", BODIES["twice"][0]))
    options: dict[str, Any] = {"x": ("n<=4", 4), "past": ("p<=16", 4)}
    stateful = with_states(with_given_extents(module, "main", options, {}), "main", {"past": "out1"})
    steps = Steps(with_state_lengths(irtool.infer_types(stateful), "main"))
    instance = irtool.build(module, shapes=options, states={"past": "out1"}).instance()
    for x in steps_of(4):
        np.testing.assert_allclose(steps.step([x]), instance.step([x]), atol=1e-5)
    for take in (steps.step, instance.step):
        with pytest.raises(IrError, match="have no room for the step"):
            take([np.zeros((4, 4), "float32")])
