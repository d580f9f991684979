"""Every output takes values of data types: TVM's interface, archives, and programs and test benches of networks with states."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.driver.signature import Signature
from irtool.interp.steps import Steps
from irtool.interp.values import Data
from tests.driver.programs import SANITIZED, compile_c, parse, run
from tests.fuzz.data import difference_of_values

pytestmark = pytest.mark.usefixtures("quick_compiles")

TREE = """type Tree { Leaf(float32), Fork(Tree, Tree), }
def @double(%t: Tree) -> Tree {
  match (%t) { Leaf(%x) => { Leaf(%x * 2f) }, Fork(%l, %r) => { Fork(@double(%l), @double(%r)) }, }
}
def @main(%t: Tree, %x: Tensor[(?, 2), float32]) -> (Tensor[(?, 2), float32], Tree) { (tanh(%x), @double(%t)) }
"""
MAIN = """#include "tvmgen_net.h"
#include "net.h"

int main(void) {
  static int64_t memory[1000];
  struct net_values *values = net_values_begin(memory, sizeof memory);
  int64_t tree = net_Fork(values, net_Leaf(values, 1), net_Leaf(values, 3)), twice = 0;
  float x[6] = {0}, out[6] = {1};
  struct tvmgen_net_inputs inputs;
  struct tvmgen_net_outputs outputs;
  inputs.values = values;
  inputs.n = 3;
  inputs.t = &tree;
  inputs.x = x;
  outputs.output0 = out;
  outputs.output1 = &twice;
  if (tvmgen_net_run(&inputs, &outputs)) return 1;
  if (net_Leaf_0(values, net_Fork_1(values, twice)) != 6 || out[0] != 0) return 2;
  inputs.n = 9;
  if (tvmgen_net_run(&inputs, &outputs) != NET_OUT_OF_BOUNDS) return 3;
  inputs.n = 3;
  memory[8] ^= 1;
  return tvmgen_net_run(&inputs, &outputs) == NET_OTHER_VALUES ? 0 : 4;
}
"""


@pytest.mark.parametrize("archive", [False, True])
def test_the_interface_of_tvm_takes_values(archive: bool, tmp_path: Path) -> None:
    emit = {"emit": "mlf"} if archive else {"emit": "c", "api": "tvm"}
    irtool.build(parse(TREE), name="net", shapes={"x": ("n<=4", 2)}, out_dir=tmp_path, **emit)
    if archive:
        with tarfile.open(tmp_path / "net.tar") as tar:
            tar.extractall(tmp_path, filter="data")
    headers, sources = tmp_path / "codegen/host/include", tmp_path / "codegen/host/src"
    if not archive:
        headers = sources = tmp_path
    (tmp_path / "main.c").write_text(MAIN)
    files = sorted(str(p.relative_to(tmp_path)) for p in sources.glob("*.c") if p.name != "main.c")
    done = run(compile_c(tmp_path, "main", "main.c", *files, flags=[*SANITIZED, f"-I{headers}"]))
    assert done.returncode == 0, (done.returncode, done.stderr)


LISTS = """type List[A] { Cons(A, List[A]), Nil, }
def @sum(%l: List[Tensor[(2), float32]], %h: Tensor[(2), float32]) -> Tensor[(2), float32] {
  match (%l) { Nil => { %h }, Cons(%x, %rest) => { %x + @sum(%rest, %h) }, }
}
def @main(%l: List[Tensor[(2), float32]], %y: Tensor[(2), float32], %h: Tensor[(2), float32]) {
  let %s = tanh(@sum(%l, %h));
  (Cons(%s, %l), %s + %y, %s)
}
"""
STATES = {"h": "out2"}


def step_inputs(module: irtool.Module, k: int) -> list[Any]:
    cons, nil = module.type_definitions["List"].constructors
    numbers = Data(nil)
    for n in range(k):
        numbers = Data(cons, [np.full(2, 0.1 * n - 0.2 * k, "float32"), numbers])
    return [numbers, np.full(2, k, "float32")]


def items(numbers: Any) -> list[Any]:
    result = []
    while len(numbers):
        result.append(numbers[0].tolist())
        numbers = numbers[1]
    return result


def test_outputs_are_numbered_by_values_whatever_is_in_them() -> None:
    """The interpreter's steps give what compiled steps give, though the list before the state has any length."""
    module = irtool.infer_types(parse(LISTS))
    with_states = irtool.infer_types(parse(LISTS.replace("%h: Tensor[(2), float32]) {\n  let", "%h: Tensor[(2), float32], state_outputs=[-1, -1, 2]) {\n  let")))  # fmt: skip
    interpreted, compiled = Steps(with_states), irtool.build(module, states=STATES).instance()
    for k in range(4):
        inputs = step_inputs(module, k)
        want, got = interpreted.step(inputs), compiled.step(inputs)
        np.testing.assert_allclose(got[1], want[1], rtol=1e-6)
        np.testing.assert_allclose(items(got[0]), items(want[0]), rtol=1e-6)
        assert len(items(want[0])) == k + 1


@pytest.mark.parametrize("order", ["value first", "state first", "in a tuple", "behind an empty tuple"])
def test_values_that_are_known_when_compiling_are_outputs_too(order: str) -> None:
    """Of an entry with states, each value is one output, whatever constructor and arguments it has for all inputs."""
    results, number = {
        "value first": ("(Nil, %h + %x)", 1),
        "state first": ("(%h + %x, Cons(%x, Cons(%h, Nil)))", 0),
        "in a tuple": ("((Cons(%x, Nil), %x), Nil, %h + %x)", 3),
        "behind an empty tuple": ("((), %h + %x)", 0),
    }[order]
    module = irtool.infer_types(
        parse(
            f"""type List[A] {{ Cons(A, List[A]), Nil, }}
            def @main(%x: float32, %h: float32, state_outputs=[-1, {number}]) -> {RESULTS[order]} {{ {results} }}"""
        )
    )
    steps, instance = Steps(module), irtool.build(module).instance()
    for x in (1.0, 2.0, 4.0):
        want, got = steps.step([np.float32(x)]), instance.step([np.float32(x)])
        assert not difference_of_values(want, got)


RESULTS = {
    "value first": "(List[int32], float32)",
    "state first": "(float32, List[float32])",
    "in a tuple": "((List[float32], float32), List[int32], float32)",
    "behind an empty tuple": "((), float32)",
}


def test_a_test_bench_takes_steps_on_values(tmp_path: Path) -> None:
    irtool.build(parse(LISTS), states=STATES, emit="exe", testbench=True, out_dir=tmp_path, name="net")
    done = run(tmp_path / "net")
    assert (done.returncode, done.stdout) == (0, "passed: 0 elements differ\n")


def test_a_program_takes_steps_on_values(tmp_path: Path) -> None:
    """Each step has a memory of its own in the file, and leaves one."""
    module = irtool.infer_types(parse(LISTS))
    options = {"states": STATES, "name": "net", "out_dir": tmp_path}
    artifact = irtool.build(module, emit="exe", sanitize="address,undefined", **options)
    first = artifact.run(step_inputs(module, 2))
    assert len(items(first[0])) == 3, "the first step, in a process of its own"
    instance = irtool.build(module, states=STATES).instance()
    signature = Signature("main", artifact._entries["main"])
    files, expected = {"values": b"", "l": b"", "y": b""}, []
    for k in range(5):
        memory = signature.new_memory()
        arrays = signature.arrays_of_values(step_inputs(module, k), memory)
        for name, array in zip(files, [memory.image(), *arrays], strict=True):
            files[name] += array.tobytes()
        expected.append(instance.step(step_inputs(module, k)))
    for name, data in files.items():
        (tmp_path / f"{name}.raw").write_bytes(data)
    words = [*(f"{n}.raw" for n in files), "out0.raw", "out1.raw", "values_out.raw"]
    done = run(tmp_path / "net", *words)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out1.raw", "float32").reshape(5, 2), [e[1] for e in expected])
    image, handles = (tmp_path / "values_out.raw").read_bytes(), np.fromfile(tmp_path / "out0.raw", "int64")
    for handle, want in zip(handles.tolist(), expected, strict=True):
        size = int.from_bytes(image[:8], "little")
        memory = signature.new_memory()
        memory.replace(image[:size])
        assert items(memory.get(handle, 0)) == items(want[0])
        image = image[size:]
    assert not image
    for damage in (b"", files["values"][:-8], b"\xff" * len(files["values"])):
        (tmp_path / "values.raw").write_bytes(damage)
        done = run(tmp_path / "net", *words)
        assert done.returncode == 3, done.stderr
