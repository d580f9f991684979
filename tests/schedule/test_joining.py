"""Kernels that work row by row become one."""

import numpy as np
import pytest

import irtool


@pytest.fixture(autouse=True)
def quick_compiles(monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O1")


def kernels(params: str, text: str, shapes: dict, **options) -> list[dict]:
    module = irtool.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {text} }}\n')
    artifact = irtool.build(module, **options)
    generator = np.random.RandomState(5)
    inputs = {n: generator.randn(*s).astype("float32") for n, s in shapes.items()}
    want, got = irtool.evaluate(module, inputs), artifact.run(inputs)
    for a, b in zip(want, got) if isinstance(want, tuple | list) else [(want, got)]:
        np.testing.assert_allclose(b, a, atol=1e-5, rtol=1e-5)
    return artifact.report["kernels"]


NORM = "%x: Tensor[({rows}, {n}), float32], %g: Tensor[({n}), float32], %b: Tensor[({n}), float32]"


@pytest.mark.parametrize("rows", [2, 3, 32, 128, 130])
@pytest.mark.parametrize("n", [16, 50, 96])
def test_a_layer_norm_is_one_kernel(rows, n):
    shapes = {"x": (rows, n), "g": (n,), "b": (n,)}
    joined = kernels(NORM.format(rows=rows, n=n), "nn.layer_norm(%x, %g, %b)", shapes)
    assert len(joined) == 1
    assert joined[0]["operators"][:2] == ["mean", "variance"]
    assert joined[0]["workspace_bytes"] == 0


def test_without_vectors_every_kernel_stays_as_it_is():
    shapes = {"x": (32, 64), "g": (64,), "b": (64,)}
    joined = kernels(NORM.format(rows=32, n=64), "nn.layer_norm(%x, %g, %b)", shapes, vector=False)
    assert len(joined) == 3


def test_a_layer_norm_written_out_is_one_kernel():
    text = """
      %0 = mean(%x, axis=[-1], keepdims=True);
      %1 = subtract(%x, %0);
      %2 = mean(multiply(%1, %1), axis=[-1], keepdims=True);
      %3 = divide(%1, sqrt(add(%2, 1e-5f)));
      add(multiply(%3, %g), %b)
    """
    joined = kernels(NORM.format(rows=64, n=96), text, {"x": (64, 96), "g": (96,), "b": (96,)})
    assert len(joined) == 1


def test_what_is_a_result_keeps_its_memory():
    text = "%0 = mean(%x, axis=[-1], keepdims=True); (%0, subtract(%x, %0))"
    joined = kernels("%x: Tensor[(40, 96), float32]", text, {"x": (40, 96)})
    assert len(joined) == 1


def test_other_rows_are_not_joined():
    text = "%0 = sum(%x, axis=[1], keepdims=True); %1 = subtract(%x, %0); sum(%1, axis=[0])"
    joined = kernels("%x: Tensor[(40, 96), float32]", text, {"x": (40, 96)})
    assert len(joined) > 1


def test_products_are_not_joined():
    text = "%0 = nn.dense(%x, %w, units=64); nn.softmax(%0)"
    params = "%x: Tensor[(40, 64), float32], %w: Tensor[(64, 64), float32]"
    assert len(kernels(params, text, {"x": (40, 64), "w": (64, 64)})) == 2


def test_equal_pairs_share_a_kernel():
    text = "(nn.layer_norm(%x, %g, %b), nn.layer_norm(%y, %g, %b))"
    params = NORM.format(rows=40, n=64) + ", %y: Tensor[(40, 64), float32]"
    assert len(kernels(params, text, {"x": (40, 64), "g": (64,), "b": (64,), "y": (40, 64)})) == 1


def test_kernels_in_branches_and_loops():
    text = """
def @again(%i: int32, %x: Tensor[(40, 64), float32], %g: Tensor[(64), float32], %b: Tensor[(64), float32])
    -> Tensor[(40, 64), float32] {
  if (less(%i, 3)) {
    %0 = mean(%x, axis=[1], keepdims=True);
    %1 = subtract(%x, %0);
    @again(add(%i, 1), add(%1, nn.layer_norm(%x, %g, %b)), %g, %b)
  } else {
    nn.layer_norm(%x, %g, %b)
  }
}
def @main(%n: int32, %x: Tensor[(40, 64), float32], %g: Tensor[(64), float32], %b: Tensor[(64), float32]) {
  @again(%n, %x, %g, %b)
}
"""
    module = irtool.parse('#[version = "0.0.5"]\n' + text)
    artifact = irtool.build(module)
    generator = np.random.RandomState(5)
    arrays = [generator.randn(*s).astype("float32") for s in ((40, 64), (64,), (64,))]
    for n in (0, 2, 3):
        inputs = [np.int32(n), *arrays]
        np.testing.assert_allclose(artifact.run(inputs), irtool.evaluate(module, inputs), atol=1e-4, rtol=1e-4)
    assert any("variance" in k["operators"] and len(k["operators"]) > 2 for k in artifact.report["kernels"])
