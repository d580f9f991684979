"""Lowered modules are run and built: interpreter, C and LLVM give the values of the module before it was lowered."""

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.lower.lowered import kernel_of
from irtool.printer.text import VERSION
from irtool.tir.stmt import Allocate, For, Scope, pre_order
from tests.command_line import irtool as command
from tests.lower.programs import PROGRAMS, agree, modules


@pytest.mark.promise("lowered text")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreter_runs_nests(name: str) -> None:
    fused, lowered, inputs = modules(name)
    agree(irtool.evaluate(fused, inputs), irtool.evaluate(lowered, inputs))


@pytest.mark.promise("lowered text")
@pytest.mark.parametrize("name", ["a chain", "gather", "top k", "argmax", "cumsum", "half precision", "handed through"])
def test_nests_are_built(name: str) -> None:
    fused, lowered, inputs = modules(name)
    want = irtool.evaluate(fused, inputs)
    agree(want, irtool.build(lowered).run(inputs))
    agree(want, irtool.build(lowered, opt_level=0, vector=False).run(inputs))


def test_relay_beside_nests_is_fused_and_scheduled() -> None:
    """What stands around the calls of a lowered module may be Relay that nobody lowered."""
    _, lowered, inputs = modules("dense")
    main = irtool.to_text(lowered["main"]).removeprefix(VERSION)
    text = irtool.to_text(lowered) + "\ndef @twice(%x: Tensor[(2, 3), float32]) { exp(add(%x, %x)) }\n"
    text = text.replace("def @main", "def @inner")
    text += "def @main(%a: Tensor[(2, 5), float32], %b: Tensor[(3, 5), float32]) { @twice(@inner(%a, %b)) }\n"
    assert "call_lowered" in main
    module = irtool.parse(text)
    want = irtool.evaluate(module, inputs)
    agree(want, irtool.build(module).run(inputs))


NEST = """@f = primfn(x_1: handle, out_1: handle) -> ()
  attr = {"global_symbol": "f"}
  buffers = {x: Buffer(x_2: Pointer(float32), float32, [65], []),
             out: Buffer(out_2: Pointer(float32), float32, [65], [])}
  buffer_map = {x_1: x, out_1: out} {
BODY
}

def @main(%x: Tensor[(65), float32]) { call_lowered(@f, (%x,)) }
"""

BODIES = {
    # Steps that touch what others write: as threads or as vectors they would give something else.
    "a sum that is called parallel": """
  for (i: int32, 0, 65) {
    out[i] = 0f32
  }
  for (i: int32, 0, 64) "parallel" {
    out[(i + 1)] = (out[i] + x[i])
  }""",
    "a sum that is called vectorized": """
  out[0] = 1f32
  for (j: int32, 0, 16) {
    for (i: int32, 0, 4) "vectorized" {
      out[(((j*4) + i) + 1)] = (out[((j*4) + i)]*x[((j*4) + i)])
    }
  }""",
    "a parallel loop with scratch memory": """
  for (i: int32, 0, 65) "parallel" {
    allocate(t: Pointer(global float32), float32, [2]), storage_scope = global {
      t_1: Buffer(t, float32, [2], [])[0] = x[i]
      t_1[1] = (t_1[0]*t_1[0])
      out[i] = t_1[1]
    }
  }""",
    "vectors below a condition and around a loop": """
  for (i: int32, 0, 5) "vectorized" {
    out[i] = x[i]
    if (i < 3) {
      out[i] = (out[i] + 1f32)
    }
    for (k: int32, 0, 12) {
      out[((k*5) + i) + 5] = (x[((k*5) + i)] + out[((k*5) + i)])
    }
  }""",
    "independent vectors": """
  for (j: int32, 0, 13) "parallel" {
    for (i: int32, 0, 5) "vectorized" {
      if (j < 6) {
        out[((j*5) + i)] = x[((j*5) + i)]
      } else {
        for (k: int32, 0, 2) {
          out[((j*5) + i)] = (x[((j*5) + i)]*3f32)
        }
      }
    }
  }""",
    "a large array on the stack, unrolled": """
  allocate(t: Pointer(local float32), float32, [2000000]), storage_scope = local {
    for (i: int32, 0, 65) "unroll" {
      t_1: Buffer(t, float32, [2000000], [])[(i*30000)] = x[i]
    }
    for (i: int32, 0, 65) {
      out[i] = t_1[(i*30000)]
    }
  }""",
    "a loop to be unrolled a million times": """
  for (i: int32, 0, 65) {
    out[i] = 0f32
  }
  for (i: int32, 0, 1000000) "unroll" {
    out[3] = (out[3] + 1f32)
  }""",
    "as often as data says": """
  for (i: int32, 0, 65) {
    let n: int32 = max(min(cast(int32, (x[i]*4f32)), 9), 0)
    out[i] = 0f32
    for (k: int32, 0, n) {
      if (k != 2) {
        out[i] = (out[i] + cast(float32, k))
      }
    }
    while (out[i] > 20f32) {
      out[i] = (out[i] - 7f32)
    }
  }""",
}


@pytest.mark.parametrize("name", BODIES)
def test_what_people_write_means_what_it_says(name: str) -> None:
    """In C, in LLVM's IR and in the interpreter, all the same: one step after the other."""
    module = irtool.parse(VERSION + NEST.replace("BODY", BODIES[name].strip("\n")))
    x = np.linspace(-1, 3, 65).astype("float32")
    want = irtool.evaluate(module, [x])
    np.testing.assert_allclose(want, by_hand(name, x), rtol=1e-5)
    agree(want, irtool.build(module, openmp=True).run([x]))


def by_hand(name: str, x: np.ndarray) -> np.ndarray:
    out = np.zeros(65, "float32")
    if "parallel" in name and "sum" in name:
        for i in range(64):
            out[i + 1] = out[i] + x[i]
    elif "vectorized" in name:
        out[0] = 1
        for i in range(64):
            out[i + 1] = out[i] * x[i]
    elif "scratch" in name:
        out[:] = x * x
    elif "below" in name:
        for i in range(5):
            out[i] = x[i] + (1 if i < 3 else 0)
            for k in range(12):
                out[k * 5 + i + 5] = x[k * 5 + i] + out[k * 5 + i]
    elif "independent" in name:
        out[:30], out[30:] = x[:30], x[30:] * 3
    elif "stack" in name:
        out[:] = x
    elif "million" in name:
        out[3] = 1e6
    else:
        for i in range(65):
            for k in range(max(min(int(x[i] * 4), 9), 0)):
                out[i] += k if k != 2 else 0
            while out[i] > 20:
                out[i] -= 7
    return out


def test_loops_that_may_be_shared_stay_so() -> None:
    module = irtool.parse(VERSION + NEST.replace("BODY", BODIES["independent vectors"].strip("\n")))
    kernel = kernel_of("f", module["f"])
    kinds = [s.kind for s in pre_order(kernel.body) if isinstance(s, For)]
    assert kinds == ["parallel", "vectorized", "serial", "vectorized"]
    module = irtool.parse(VERSION + NEST.replace("BODY", BODIES["a large array on the stack, unrolled"].strip("\n")))
    kernel = kernel_of("f", module["f"])
    assert [s.buffer.scope for s in pre_order(kernel.body) if isinstance(s, Allocate)] == [Scope.GLOBAL]


def test_what_is_kept_as_text_is_neither_run_nor_built() -> None:
    text = VERSION + NEST.replace("BODY", '  attr [meta] "thread_extent" = 1;\n  out[0] = x[0]')
    module = irtool.parse(text)
    x = np.zeros(65, "float32")
    with pytest.raises(irtool.IrError, match="@f has been lowered and is kept as text") as failed:
        irtool.evaluate(module, [x])
    assert failed.value.diagnostics[0].span is not None
    with pytest.raises(irtool.IrError, match="@f is kept as text") as failed:
        irtool.build(module)
    assert failed.value.diagnostics[0].span is not None


def test_reads_outside_are_errors() -> None:
    """An index that a nest computes from data of its own making, which nobody can tell before."""
    body = """
  allocate(t: Pointer(global int32), int32, [1]), storage_scope = global {
    t_1: Buffer(t, int32, [1], [])[0] = 70
    out[0] = x[t_1[0]]
  }"""
    module = irtool.parse(VERSION + NEST.replace("BODY", body.strip("\n")))
    with pytest.raises(irtool.IrError, match="@f leaves the 65 elements of x"):
        irtool.evaluate(module, [np.zeros(65, "float32")])


def test_calls_that_hand_over_other_tensors_are_refused() -> None:
    text = VERSION + NEST.replace("BODY", "  out[0] = x[0]").replace("Tensor[(65), float32]", "Tensor[(64), float32]")
    with pytest.raises(irtool.IrError, match="64"):
        irtool.build(irtool.parse(text))


def test_operators_outside_of_kernels_are_noted(tmp_path: Path) -> None:
    """Once nothing is lowered, not where kernels were."""
    source = tmp_path / "net.relay"
    source.write_text('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { nn.relu(%x) }\n')
    for passes, note in (("LowerTE", "no kernel to lower"), ("FuseOps,LowerTE,LowerTE", "")):
        code, _, err = command("opt", f"--passes={passes}", str(source))
        assert code == 0 and note in err and bool(note) == bool(err)
