"""Generated C says of each kernel what it computes and where that stands in the source; weights have their names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.driver.build import build
from irtool.relay import Function, const, nn, var

pytestmark = pytest.mark.promise("C says its origin")

TEXT = """#[version = "0.0.5"]
def @main(%image: Tensor[(1, 3, 8, 8), float32], %conv.weight: Tensor[(4, 3, 3, 3), float32], %y: Tensor[(4, 6, 6), float32]) {
  %0 = nn.conv2d(%image, %conv.weight, padding=[0, 0, 0, 0], strides=[1, 1], kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.softmax(%1, axis=1);
  %3 = add(%2, %y);
  nn.softmax(%3, axis=1)
}
"""
WEIGHT = np.random.RandomState(1).uniform(-1, 1, (4, 3, 3, 3)).astype("float32")
X = np.random.RandomState(2).uniform(-1, 1, (1, 3, 8, 8)).astype("float32")
Y = np.random.RandomState(3).uniform(-1, 1, (4, 6, 6)).astype("float32")


def source(folder: Path, text: str = TEXT, **options: object) -> str:
    settings = {"emit": "so", "name": "net", "params": {"conv.weight": WEIGHT}, **options}
    module = irtool.parse(text, filename="/some/folder/ne*/t.relay")
    artifact = build(module, out_dir=folder, **settings)  # type: ignore[arg-type]
    if not options:
        np.testing.assert_allclose(artifact.run([X, Y]), irtool.evaluate(module, [X, WEIGHT, Y]), atol=1e-5)
    return (folder / "net.c").read_text()


def test_a_kernel_says_operators_shapes_attributes_places_and_arguments(tmp_path: Path) -> None:
    text = source(tmp_path)
    assert (
        " *   nn.conv2d(float32[1, 3, 8, 8], float32[4, 3, 3, 3]) -> float32[1, 4, 6, 6], padding=[0, 0, 0, 0]," in text
    )
    assert "kernel_size=[3, 3]\n *   nn.relu(float32[1, 4, 6, 6]) -> float32[1, 4, 6, 6]\n" in text
    assert re.search(r"^ \* t\.relay:3:8, t\.relay:4:8: p0 = image, p1 = conv_weight(_packed)?$", text, re.M)
    assert "/some/folder" not in text and "constant_" not in text


def test_each_use_of_a_kernel_has_its_place(tmp_path: Path) -> None:
    text = source(tmp_path, disabled_pass=["FuseOps"])
    uses = re.search(r"^ \* nn\.softmax: .*\n(?: \*   .*\n)+((?: \* .*\n)+) \*/", text, re.M)
    assert uses and [u.split(": ")[0] for u in uses[1].splitlines()] == [" * t.relay:5:8", " * t.relay:7:3"]


@pytest.mark.parametrize("weights", ["inline", "split", "file"])
def test_weights_have_the_names_of_their_parameters(tmp_path: Path, weights: str) -> None:
    names = ["run", "run_with", "storage", "weights", "memcpy", "size", "base", "y0", "main", "arena"]
    params = {n: np.full((8,), k + 1, "float32") for k, n in enumerate(names)}
    listed = ", ".join(f"%{n}: Tensor[(8), float32]" for n in ["net_x", *names])
    body = "%net_x"
    for n in names:
        body = f"multiply(tanh({body}), %{n})"
    module = irtool.parse(
        f'#[version = "0.0.5"]\ndef @main({listed}) {{ {body} }}\ndef @y0(%net_run: Tensor[(8), float32]) {{ tanh(%net_run) }}'
    )
    options = {"name": "net", "weights": weights, "entry": ("main", "y0"), "inputs": ["net_x", "net_run"]}
    artifact = build(module, params, out_dir=tmp_path, **options)  # type: ignore[arg-type]
    x = np.linspace(-1, 1, 8, dtype="float32")
    expected = irtool.evaluate(module, [x, *params.values()])
    np.testing.assert_allclose(artifact.run([x]), expected, rtol=1e-5)
    np.testing.assert_allclose(artifact.run([x], entry="y0"), np.tanh(x), rtol=1e-5)
    text = (tmp_path / "net.c").read_text()
    assert {"net_memcpy", "net_size", "net_weight_run", "net_weight_run_with"} <= set(re.findall(r"\bnet_\w+", text))
    assert "int net_run_y0(" in (tmp_path / "net.h").read_text() and "constant_" not in text
    assert {c["name"] for c in artifact.report["constants"]} == set(names)
    line = artifact.report["compile"]
    done = subprocess.run(f"{line} -Wall -Wextra -pedantic -Werror", shell=True, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr


def test_a_weight_that_passes_fold_keeps_its_name(tmp_path: Path) -> None:
    text = TEXT.replace("nn.conv2d(%image, %conv.weight,", "nn.conv2d(%image, multiply(%conv.weight, 2f),")
    code = source(tmp_path, text, emit="c")
    assert re.search(r"\bnet_conv_weight(_packed)?\[108\]", code) and "constant_" not in code


def test_weights_of_modules_without_text_have_names_too(tmp_path: Path) -> None:
    x, w = var("x", shape=(4, 8), dtype="float32"), var("fc1.weight", shape=(16, 8), dtype="float32")
    function = Function([x, w], nn.dense(x, w) * const(np.ones((4, 16), "float32") * 2))
    params = {"fc1.weight": np.ones((16, 8), "float32")}
    build(function, params, out_dir=tmp_path, name="net", emit="c")
    text = (tmp_path / "net.c").read_text()
    assert re.search(r"\bnet_fc1_weight(_packed)?\[128\]", text) and re.search(r"\bnet_constant_\d\[64\]", text)


def test_names_and_places_that_comments_cannot_hold(tmp_path: Path) -> None:
    module = irtool.parse(TEXT, filename="a*/é\udc80.relay")
    build(module, {"conv.weight": WEIGHT}, out_dir=tmp_path, name="net", emit="c")
    assert "\\xe9\\udc80.relay:3:8" in (tmp_path / "net.c").read_text()
    module = irtool.parse(TEXT, filename="a*\\/b.relay")
    artifact = build(module, {"conv.weight": WEIGHT}, out_dir=tmp_path, name="net")
    np.testing.assert_allclose(artifact.run([X, Y]), irtool.evaluate(module, [X, WEIGHT, Y]), atol=1e-5)


def test_the_cache_tells_places_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    texts = [
        source(tmp_path / "out", text, emit="c", cache=True) for text in (TEXT, TEXT.replace("{\n", "{\n\n"), TEXT)
    ]
    assert (
        texts[0] == texts[2]
        and "t.relay:3:8" in texts[0]
        and "t.relay:4:8" in texts[1]
        and "t.relay:3:8" not in texts[1]
    )
