"""Builds with states: the outputs of a network that takes and gives them, step after step, in memory of instances."""

from __future__ import annotations

import pickle
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError, UsageError
from irtool.driver.instance import OtherState
from tests.driver.programs import compile_c, parse, run
from tests.driver.states import NETWORKS, Network, all_outputs

pytestmark = pytest.mark.promise("states")

STEPS = 1000
needs_clang = pytest.mark.skipif(shutil.which("clang") is None, reason="no clang")
TARGETS = [
    "c",
    "c{openmp=true}",
    "c{mcpu=portable}",
    "c{math=strict}",
    "c{vector=none}",
    pytest.param("llvm", marks=needs_clang),
]


def agree(network: Network, target: str, steps: int, **options: Any) -> None:
    """Asserts that steps give the bits of the network that takes and gives the states."""
    step, run_whole = network.build(target, **options).instance().step, network.stateless(target, **options).run
    states = network.first()
    for n in range(steps):
        inputs = network.step(n)
        expected = network.after(all_outputs(run_whole({**inputs, **states})), states)
        for got, want in zip(all_outputs(step(inputs)), expected, strict=True):
            np.testing.assert_array_equal(got, want, f"step {n}")


@pytest.mark.parametrize("name", NETWORKS)
def test_steps_give_the_bits_of_the_network_without_states(name: str) -> None:
    agree(NETWORKS[name], "c", STEPS)


@pytest.mark.parametrize("target", TARGETS[1:])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_build_does_so(name: str, target: str) -> None:
    agree(NETWORKS[name], target, 20)


@pytest.mark.parametrize("precision", ["bfloat16{layers=all}", "float16{layers=all}", "int8"])
@pytest.mark.parametrize("name", ["lstm", "convolution"])
def test_every_precision_does_so(name: str, precision: str) -> None:
    options = {"calibration": "random"} if precision == "int8" else {}
    agree(NETWORKS[name], "c", 20, precision=precision, **options)


@pytest.mark.parametrize("name", NETWORKS)
def test_copies_are_made_where_the_old_value_is_read_later(name: str) -> None:
    network = NETWORKS[name]
    copied = [s["name"] for s in network.build().report["states"] if s["copied"]]
    assert copied == list(network.copied)


def test_instances_do_not_touch_each_other() -> None:
    network = NETWORKS["lstm"]
    artifact = network.build()
    together = [artifact.instance() for _ in range(3)]
    for n in range(20):
        for k, instance in enumerate(together):
            alone = artifact.instance() if n == 0 else None
            if alone is not None:
                np.testing.assert_array_equal(alone.step(network.step(10 * k)), instance.step(network.step(10 * k)))
            else:
                instance.step(network.step(10 * k + n))
    for k, instance in enumerate(together):
        alone = artifact.instance()
        for n in range(20):
            alone.step(network.step(10 * k + n))
        assert alone.save() == instance.save()


def test_threads_have_instances_of_their_own() -> None:
    network = NETWORKS["gru"]
    artifact = network.build()
    saved: dict[int, bytes] = {}

    def steps(k: int) -> None:
        instance = artifact.instance()
        for n in range(300):
            instance.step(network.step(k + n))
        saved[k] = instance.save()

    threads = [threading.Thread(target=steps, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        alone = artifact.instance()
        for n in range(300):
            alone.step(network.step(k + n))
        assert alone.save() == saved[k]


@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_clang)])
@pytest.mark.parametrize("name", NETWORKS)
def test_saved_states_go_on_elsewhere(name: str, target: str) -> None:
    network = NETWORKS[name]
    artifact = network.build(target)
    first, second = artifact.instance(), artifact.instance()
    for n in range(7):
        first.step(network.step(n))
    second.step(network.step(99))
    second.restore(first.save())
    for n in range(7, 12):
        for a, b in zip(
            all_outputs(first.step(network.step(n))), all_outputs(second.step(network.step(n))), strict=True
        ):
            np.testing.assert_array_equal(a, b)
    assert first.save() == second.save()


@needs_clang
def test_both_backends_save_the_same_bytes() -> None:
    network = NETWORKS["rows written"]
    saved = []
    for target in ("c", "llvm"):
        instance = network.build(target).instance()
        for n in range(5):
            instance.step(network.step(n))
        saved.append(instance.save())
    assert saved[0] == saved[1]


@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_clang)])
def test_other_bytes_are_refused_and_change_nothing(target: str) -> None:
    network = NETWORKS["lstm"]
    instance, other = network.build(target).instance(), NETWORKS["gru"].build(target).instance()
    instance.step(network.step(0))
    saved = instance.save()
    damaged = [bytearray(saved) for _ in range(len(saved))]
    for k, wrong in enumerate(damaged):
        wrong[k] ^= 1
    for wrong in (*map(bytes, damaged), saved[:-1], saved + b"0", b"", other.save(), bytes(len(saved))):
        with pytest.raises(OtherState, match="no saved state"):
            instance.restore(wrong)
    assert instance.save() == saved


def test_reset_begins_anew() -> None:
    network = NETWORKS["convolution"]
    artifact = network.build()
    instance = artifact.instance()
    first = instance.step(network.step(0))
    instance.step(network.step(1))
    instance.reset()
    np.testing.assert_array_equal(instance.step(network.step(0)), first)
    np.testing.assert_array_equal(artifact.run(network.step(0)), first)
    np.testing.assert_array_equal(artifact.run(network.step(0)), first)
    np.testing.assert_array_equal(artifact.instance().step(**network.step(0)), first)


def test_builds_that_were_saved_or_cached_have_their_states(tmp_path: Path) -> None:
    network = NETWORKS["lstm"]
    artifact = network.build()
    artifact.save(tmp_path)
    expected = artifact.run(network.step(0))
    for other in (
        irtool.load(tmp_path),
        pickle.loads(pickle.dumps(artifact)),
        network.build(cache=True),
        network.build(cache=True),
    ):
        instance = other.instance()
        np.testing.assert_array_equal(instance.step(network.step(0)), expected)
        assert [s["name"] for s in other.report["states"]] == ["h", "c"]


@pytest.mark.parametrize(
    "target", ["c", "c{mcpu=portable}", "c{weights=file}", pytest.param("llvm", marks=needs_clang)]
)
def test_states_begin_with_given_values(target: str, tmp_path: Path) -> None:
    """Weights under the names of states are their first values."""
    network = NETWORKS["lstm"]
    first = {"h": np.full((1, 16), 0.5, "float32")}
    module = parse(network.text)
    states = {"h": "out1", "c": "out2"}
    artifact = irtool.build(module, {**network.params(), **first}, target, states=states, out_dir=tmp_path, name="net")
    inputs = network.step(0)
    expected, *_ = network.stateless(target).run({**inputs, **network.first(), **first})
    instance = artifact.instance()
    for _ in range(2):
        np.testing.assert_array_equal(instance.step(inputs), expected)
        instance.step(inputs)
        instance.reset()


def test_the_test_bench_begins_with_given_values(tmp_path: Path) -> None:
    network = NETWORKS["gru"]
    params = {**network.params(), "h": np.full((1, 16), 0.5, "float32")}
    irtool.build(parse(network.text), params, states={"h": "1"}, out_dir=tmp_path, name="net", emit="c", testbench=True)
    assert run(compile_c(tmp_path, "test", "net.c", "net_test.c")).returncode == 0


CACHES = """<ir_version: 11, opset_import: ["" : 24]>
step (float[1,2,1,8] q, float[1,2,1,8] k, float[1,2,1,8] v, float[1,1,1,16] mask, int64[1] position,
      float[1,2,16,8] past_key, float[1,2,16,8] past_value)
  => (float[1,2,1,8] y, float[1,2,16,8] present_key, float[1,2,16,8] other) {
  present_key = TensorScatter<axis = 2>(past_key, k, position)
  other = TensorScatter<axis = 2>(past_value, v, position)
  kt = Transpose<perm = [0, 1, 3, 2]>(present_key)
  s = MatMul(q, kt)
  m = Add(s, mask)
  p = Softmax<axis = -1>(m)
  y = MatMul(p, other)
}
"""


def test_key_value_caches_of_a_model_stay_in_place() -> None:
    """Attention over caches of the model, written at a position: the bits of the model that takes and gives the caches."""
    pytest.importorskip("onnx")
    module, weights = irtool.from_onnx(CACHES.encode())
    stateless = irtool.build(module, weights)
    artifact = irtool.build(module, weights, states="auto")
    assert [(s["output"], s["copied"]) for s in artifact.report["states"]] == [("present_key", False), ("other", False)]
    instance = artifact.instance()
    caches = {"past_key": np.zeros((1, 2, 16, 8), "float32"), "past_value": np.zeros((1, 2, 16, 8), "float32")}
    for n in range(40):
        g = np.random.RandomState(n)
        inputs = {x: g.randn(1, 2, 1, 8).astype("float32") for x in "qkv"}
        inputs["position"] = np.array([n % 16], "int64")
        inputs["mask"] = np.where(np.arange(16) <= n, 0, -np.inf).astype("float32").reshape(1, 1, 1, 16)
        y, key, value = stateless.run({**inputs, **caches})
        np.testing.assert_array_equal(instance.step(inputs), y)
        caches = {"past_key": key, "past_value": value}


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("past_key_values.0.key", "present.0.key"),
        ("past_key", "present_key"),
        ("h0", "hn"),
        ("state", "stateN"),
        ("state", "state_out"),
        ("cache_in", "cache_out"),
        ("in_cache", "out_cache"),
        ("c", "new_c"),
    ],
)
def test_names_that_say_the_next_value(source: str, target: str) -> None:
    text = f"""#[version = "0.0.5"]
def @main(%x: Tensor[(3), float32], %h: Tensor[(3), float32], input_tensor_names=["x", "{source}"],
          output_tensor_names=["y", "{target}"]) {{ %0 = add(%x, %h); (exp(%0), %0) }}"""
    (state,) = irtool.build(parse(text), states="auto", emit="c").report["states"]
    assert (state["name"], state["output"]) == ("h", target)


def test_names_that_say_nothing() -> None:
    network = NETWORKS["gru"]
    with pytest.raises(UsageError, match="no input of @main looks like a state"):
        irtool.build(parse(network.text), network.params(), states="auto")
    with pytest.raises(UsageError, match="states are names by name"):
        irtool.build(parse(network.text), network.params(), states="h")


def test_states_that_the_text_says() -> None:
    """`state_outputs` is an attribute of the function, which a text keeps."""
    network = NETWORKS["gru"]
    text = network.text.replace(
        "%wh: Tensor[(48, 16), float32])", "%wh: Tensor[(48, 16), float32], state_outputs=[-1, 1])"
    )
    module = parse(text)
    assert "state_outputs=[-1, 1]" in irtool.to_text(module)
    artifact = irtool.build(parse(irtool.to_text(module)), network.params())
    np.testing.assert_array_equal(artifact.run(network.step(0)), network.build().run(network.step(0)))


@pytest.mark.parametrize("name", NETWORKS)
def test_the_test_bench_takes_several_steps(name: str, tmp_path: Path) -> None:
    NETWORKS[name].build(out_dir=tmp_path, emit="c", testbench=True)
    assert "net_init(&instance)" in (tmp_path / "net_test.c").read_text()
    done = run(compile_c(tmp_path, "test", "net.c", "net_test.c"))
    assert done.returncode == 0, done.stdout


def test_the_program_takes_the_steps_in_its_files(tmp_path: Path) -> None:
    network = NETWORKS["lstm"]
    network.build(out_dir=tmp_path, emit="exe")
    steps = [network.step(n)["x"] for n in range(5)]
    (tmp_path / "x.raw").write_bytes(b"".join(x.tobytes() for x in steps))
    done = run(tmp_path / "net", "x.raw", "out.raw")
    assert done.returncode == 0, done.stderr
    instance = network.build().instance()
    expected = b"".join(instance.step([x]).tobytes() for x in steps)
    assert (tmp_path / "out.raw").read_bytes() == expected
    (tmp_path / "x.raw").write_bytes(steps[0].tobytes()[:-1])
    done = run(tmp_path / "net", "x.raw", "out.raw")
    assert (done.returncode, done.stderr) == (3, "x.raw: the last step is not complete\n")


MAIN = """
#include "net.h"
#include <stdio.h>
#include <string.h>

static unsigned char arena[NET_ARENA_SIZE], saved[NET_STATE_SIZE];
static struct net_net nets[2];

int main(void) {
  float x[NET_X_SIZE], first[NET_OUT_SIZE], out[NET_OUT_SIZE];
  int k;
  for (k = 0; k < (int)NET_X_SIZE; ++k) x[k] = 0.25f * (float)k;
  for (k = 0; k < 2; ++k)
    if (net_init(&nets[k])) return 1;
  if (net_step(&nets[0], x, first) || net_step_with(arena, sizeof arena, &nets[1], x, out)) return 2;
  if (memcmp(first, out, sizeof out) || memcmp(&nets[0], &nets[1], sizeof nets[0])) return 3;
  if (net_step_with(arena, NET_ARENA_SIZE - 1, &nets[1], x, out) != 1) return 4;
  if (memcmp(&nets[0], &nets[1], sizeof nets[0])) return 5;
  if (net_state(&nets[0], saved, NULL) || net_step(&nets[0], x, first)) return 6;
  if (!memcmp(&nets[0], &nets[1], sizeof nets[0]) || net_state(&nets[0], NULL, saved)) return 7;
  if (memcmp(&nets[0], &nets[1], sizeof nets[0])) return 8;
  saved[NET_STATE_SIZE - 1] ^= 1;
  if (net_state(&nets[0], NULL, saved) != NET_OTHER_STATE || memcmp(&nets[0], &nets[1], sizeof nets[0])) return 9;
  puts("ok");
  return 0;
}
"""


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_the_interface_in_c(name: str, tmp_path: Path) -> None:
    NETWORKS[name].build(out_dir=tmp_path, emit="c")
    (tmp_path / "main.c").write_text(MAIN)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-g", "-fsanitize=address,undefined"]
    done = run(compile_c(tmp_path, "main", "net.c", "main.c", flags=flags))
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_the_header_is_valid_in_cpp(tmp_path: Path) -> None:
    NETWORKS["lstm"].build(out_dir=tmp_path, emit="c")
    (tmp_path / "main.cpp").write_text('#include "net.h"\nint main() { net_net net; return net_init(&net); }\n')
    flags = ["-Wall", "-Wextra", "-Werror", "-c"]
    compile_c(tmp_path, "main.o", "main.cpp", cc="c++", flags=flags)


def test_functions_whose_names_are_those_of_instances(tmp_path: Path) -> None:
    """Functions and parameters of the module may have any names."""
    text = (
        "def @init(%v: Tensor[(3), float32]) { if (greater(sum(%v), 0f)) { tanh(%v) } else { exp(%v) } } "
        "def @main(%net: Tensor[(3), float32], %saved: Tensor[(3), float32], %float: Tensor[(3), float32]) "
        "{ %0 = @init(add(%net, %saved)); (%0, negative(%0), add(%float, %net)) }"
    )
    network = Network(text, {"net": (3,)}, {"saved": (1, (3,)), "float": (2, (3,))})
    agree(network, "c", 10)
    network.build(out_dir=tmp_path, emit="c", testbench=True)
    assert run(compile_c(tmp_path, "test", "net.c", "net_test.c")).returncode == 0


def test_a_run_that_ends_early_leaves_states_as_they_were() -> None:
    """A recursion that is too deep for the region is an error: what was computed until then is not in the states."""
    text = (
        "def @f(%i: int32, %v: Tensor[(64), float32]) -> Tensor[(64), float32] "
        "{ if (less(%i, 1)) { %v } else { add(@f(subtract(%i, 1), tanh(%v)), %v) } } "
        "def @main(%n: int32, %h: Tensor[(64), float32]) { %0 = add(%h, 1f); (@f(%n, %0), %0) }"
    )
    module = parse(text)
    artifact = irtool.build(module, states={"h": "out1"})
    assert artifact.report["states"][0]["copied"]
    instance = artifact.instance()
    instance.step([np.int32(3)])
    saved = instance.save()
    with pytest.raises(IrError, match="the region is full"):
        instance.step([np.int32(1 << 20)])
    assert instance.save() == saved


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ({"q": "1"}, "the state 'q' is no input of @main"),
        ({"h": "h_out"}, "@main has no output 'h_out'"),
        ({"h": "3"}, "@main has no output '3'"),
        ({"h": "1", "c": "1"}, "the output '1' is to be the next value of h and of c"),
        ({"x": "1"}, "the state %x is float32[1, 8], and its next value, output 1, is float32[1, 16]"),
    ],
)
def test_states_that_do_not_fit(states: dict[str, str], message: str) -> None:
    network = NETWORKS["lstm"]
    with pytest.raises(IrError) as caught:
        irtool.build(parse(network.text), network.params(), states=states)
    assert message in str(caught.value)


def test_states_of_called_functions_and_of_further_entries() -> None:
    text = (
        "def @f(%h: Tensor[(3), float32], state_outputs=[0]) { exp(%h) } def @main(%x: Tensor[(3), float32]) { @f(%x) }"
    )
    irtool.build(parse(text))  # a function that is called is a function of values
    with pytest.raises(IrError, match="@f has states, and only the first entry may have some"):
        irtool.build(parse(text), entry=["main", "f"])
    recursive = (
        "def @main(%n: int32, %h: Tensor[(3), float32], state_outputs=[-1, 0]) -> Tensor[(3), float32] "
        "{ if (less(%n, 1)) { %h } else { exp(@main(subtract(%n, 1), %h)) } }"
    )
    with pytest.raises(IrError, match="@main has states, and is called"):
        irtool.build(parse(recursive))


@pytest.mark.parametrize("options", [{"api": "tvm"}, {"emit": "mlf"}])
def test_tvms_interface_has_no_states(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="TVM's interface has no states"):
        NETWORKS["lstm"].build(**options)


def test_networks_without_states_have_no_instances() -> None:
    with pytest.raises(UsageError, match="this build has no states"):
        NETWORKS["lstm"].stateless().instance()


WINDOW = """<ir_version: 12, opset_import: ["" : 27]>
step (float[1,4,2] x, float[1,4,3] past, float[4,1,4] w, float[4] b) => (float[1,4,2] y, float[1,4,3] kept) {
  y, kept = CausalConvWithState<activation = "silu">(x, w, b, past)
}
"""


def test_windows_of_a_causal_convolution_stay_in_place() -> None:
    pytest.importorskip("onnx")
    module, _ = irtool.from_onnx(WINDOW.encode())
    g = np.random.RandomState(0)
    weights = {"w": g.randn(4, 1, 4).astype("float32"), "b": g.randn(4).astype("float32")}
    stateless, artifact = irtool.build(module, weights), irtool.build(module, weights, states="auto")
    assert [(s["name"], s["output"], s["copied"]) for s in artifact.report["states"]] == [("past", "kept", False)]
    instance, past = artifact.instance(), np.zeros((1, 4, 3), "float32")
    for n in range(STEPS):
        x = np.random.RandomState(n).randn(1, 4, 2).astype("float32")
        y, past = stateless.run([x, past])
        np.testing.assert_array_equal(instance.step([x]), y)
