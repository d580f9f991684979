"""`--opt`: weights that are transformed for speed, stored plain, stored transformed, or not transformed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import irtool
from irtool.backends.c.backend import C
from irtool.diagnostics import UsageError
from irtool.driver.artifact import Artifact
from irtool.ir import Module

HEAD = '#[version = "0.0.5"]\n'


def _layer(op: str, channels: int, extents: str, window: str, attrs: str) -> str:
    """Three layers: the one in the middle reads and writes blocked layouts."""
    ones = "1, 1, 1"[: len(window)]
    around = f"Tensor[({channels}, {channels}, {ones}), float32]"
    return f"""def @main(%x: Tensor[(1, {channels}, {extents}), float32], %u: {around},
          %w: Tensor[({channels}, {channels}, {window}), float32], %v: {around}) {{
  %0 = nn.relu({op}(%x, %u));
  %1 = nn.relu({op}(%0, %w, {attrs}));
  {op}(%1, %v)
}}"""


CASES = {
    "4 x 4": (_layer("nn.conv2d", 64, "12, 12", "3, 3", "padding=[1, 1]"), "winograd=4"),
    "2 x 2": (_layer("nn.conv2d", 64, "12, 12", "3, 3", "padding=[1, 1]"), "winograd=2"),
    "5 x 5": (_layer("nn.conv2d", 64, "12, 12", "5, 5", "padding=[2, 2]"), "winograd=2"),
    "strided": (_layer("nn.conv2d", 64, "12, 12", "3, 3", "strides=[2, 2], padding=[1, 1]"), "winograd=2"),
    "one axis": (_layer("nn.conv1d", 64, "48", "3", "padding=[1]"), "winograd=4"),
    "depth": (_layer("nn.conv3d", 32, "4, 8, 8", "3, 3, 3", "padding=[1, 1, 1]"), "winograd=2"),
    "halves": (
        "def @main(%x: Tensor[(256, 512), float32], %w: Tensor[(512, 512), float32]) { nn.dense(%x, %w, units=512) }",
        "strassen=on",
    ),
}


def _network(text: str) -> tuple[Module, dict[str, Any], Any]:
    """The module, its weights, and an input."""
    module = irtool.infer_types(irtool.parse(HEAD + text))
    g = np.random.default_rng(0)
    values = {
        p.name: g.uniform(-1, 1, [int(n) for n in p.checked_type.shape]).astype("float32")
        for p in module["main"].params
    }
    return module, values, values.pop("x")


def _built(text: str, flags: str, opt: str, folder: Path, backend: str = "c", **options: Any) -> Artifact:
    module, weights, _ = _network(text)
    target = f"{backend}{{{flags}}}" if flags else backend
    return irtool.build(
        module, weights, target=target, opt=opt, weights="file", cflags="-O1", out_dir=folder, **options
    )


@pytest.mark.parametrize("backend", ["c", "llvm"])
@pytest.mark.parametrize("case", CASES)
def test_the_library_transforms_as_the_build_does(case: str, backend: str, tmp_path: Path) -> None:
    text, flags = CASES[case]
    module, weights, x = _network(text)
    exact = irtool.evaluate(module, {"x": x, **weights})
    size = float(np.abs(exact).max())
    outputs, files, read = {}, {}, {}
    for opt in ("speed", "balanced", "size"):
        artifact = _built(text, flags, opt, tmp_path / opt, backend)
        outputs[opt] = artifact.run([x])
        files[opt], read[opt] = (tmp_path / opt / "model.bin").stat().st_size, artifact.report["weight_bytes"]
        np.testing.assert_allclose(outputs[opt], exact, atol=2e-5 * size)
    np.testing.assert_allclose(outputs["balanced"], outputs["speed"], atol=2e-6 * size)
    assert read["speed"] == read["balanced"] == read["size"]  # a flag that transforms at any cost wins
    assert files["balanced"] == files["size"] < files["speed"]


def test_size_transforms_nothing_of_its_own_accord(tmp_path: Path) -> None:
    text = _layer("nn.conv2d", 128, "28, 28", "3, 3", "padding=[1, 1]")
    for backend in ("c", "llvm"):
        sizes = {o: _built(text, "", o, tmp_path / backend / o, backend).report for o in ("size", "balanced", "speed")}
        assert sizes["size"]["weight_bytes"] == sizes["size"]["plain_weight_bytes"]
        assert sizes["balanced"]["weight_bytes"] == sizes["speed"]["weight_bytes"] > sizes["size"]["weight_bytes"]
        assert sizes["balanced"]["stored_weight_bytes"] <= 1.1 * sizes["balanced"]["plain_weight_bytes"]
        assert [s["opt"] for s in sizes.values()] == ["size", "balanced", "speed"]


def test_a_flag_that_excludes_an_algorithm_wins(tmp_path: Path) -> None:
    text, _ = CASES["4 x 4"]
    report = _built(text, "winograd=off,strassen=off", "speed", tmp_path).report
    assert report["weight_bytes"] == report["plain_weight_bytes"] == report["stored_weight_bytes"]


@pytest.mark.parametrize("backend", ["c", "llvm"])
def test_files_of_the_other_storage_are_refused(backend: str, tmp_path: Path) -> None:
    text, flags = CASES["4 x 4"]
    for opt in ("speed", "balanced"):
        _built(text, flags, opt, tmp_path / opt, backend)
    for opt, other in (("speed", "balanced"), ("balanced", "speed")):
        library = ctypes.CDLL(str(tmp_path / opt / "model.so"))
        assert library.model_load_weights(str(tmp_path / other / "model.bin").encode()) == 2
        assert library.model_load_weights(str(tmp_path / opt / "model.bin").encode()) == 0


@pytest.mark.parametrize("backend", ["c", "llvm"])
def test_weights_that_a_caller_passes_are_transformed_too(backend: str, tmp_path: Path) -> None:
    text, flags = CASES["4 x 4"]
    _, _, x = _network(text)
    expected = _built(text, flags, "speed", tmp_path / "speed", backend).run([x])
    _built(text, flags, "balanced", tmp_path / "balanced", backend)
    library = ctypes.CDLL(str(tmp_path / "balanced" / "model.so"))
    content = np.fromfile(tmp_path / "balanced" / "model.bin", np.uint8)
    memory = np.zeros(content.size + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    bytes_of = memory[begin : begin + content.size]
    bytes_of[:] = content
    out = np.empty_like(expected)
    for _ in range(2):  # once more: the memory of the transformed ones is there
        assert library.model_set_weights(ctypes.c_void_p(bytes_of.ctypes.data)) == 0
        assert library.model_run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data)) == 0
        np.testing.assert_allclose(out, expected, atol=2e-6 * float(np.abs(expected).max()))


@pytest.mark.parametrize("backend", ["c", "llvm"])
def test_threads_load_the_same_weights_at_once(backend: str, tmp_path: Path) -> None:
    text, flags = CASES["halves"]
    _, _, x = _network(text)
    expected = _built(text, flags, "balanced", tmp_path, backend).run([x])
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    barrier, codes = Barrier(4), []

    def load() -> None:
        barrier.wait()
        codes.append(library.model_load_weights(str(tmp_path / "model.bin").encode()))

    threads = [Thread(target=load) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    out = np.empty_like(expected)
    assert codes == [0] * 4
    assert library.model_run(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(out.ctypes.data)) == 0
    np.testing.assert_array_equal(out, expected)


MAIN = """#include "model.h"
#include <stdio.h>
#include <stdlib.h>
static float x[FLOATS_IN], y[FLOATS_OUT];
int main(void) {
  FILE *f = fopen("model.bin", "rb");
  unsigned char *room = malloc(MODEL_WEIGHTS_SIZE + 64), *bytes = room + (64 - (size_t)room % 64) % 64;
  if (!f || fread(bytes, 1, MODEL_WEIGHTS_SIZE, f) != MODEL_WEIGHTS_SIZE) return 9;
  fclose(f);
  f = fopen("x.raw", "rb");
  if (!f || fread(x, sizeof x, 1, f) != 1) return 9;
  fclose(f);
  if (model_set_weights(bytes) || model_run(x, y)) return 8;
  f = fopen("y.raw", "wb");
  return !f || fwrite(y, sizeof y, 1, f) != 1 || fclose(f);
}
"""


@pytest.mark.parametrize("loader", [[], ["-DMODEL_NO_LOADER"]])
def test_portable_c_without_a_loader_has_static_memory_for_them(loader: list[str], tmp_path: Path) -> None:
    text, flags = CASES["4 x 4"]
    module, weights, x = _network(text)
    expected = irtool.evaluate(module, {"x": x, **weights})
    _built(text, f"{flags},mcpu=x86-64-v3", "balanced", tmp_path, emit="c")
    (tmp_path / "main.c").write_text(MAIN.replace("FLOATS_IN", str(x.size)).replace("FLOATS_OUT", str(expected.size)))
    x.tofile(tmp_path / "x.raw")
    warnings = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    command = ["cc", *warnings, "-O1", *loader, "main.c", "model.c", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["./main"], cwd=tmp_path, check=True)
    actual = np.fromfile(tmp_path / "y.raw", "float32").reshape(expected.shape)
    np.testing.assert_allclose(actual, expected, atol=2e-5 * float(np.abs(expected).max()))
    objects = subprocess.run(["nm", "main"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert ("model_room" in objects) == bool(loader)


@pytest.mark.parametrize("opt", ["sied", "balance", "", 3])
def test_another_word_is_refused(opt: Any) -> None:
    module, weights, _ = _network(CASES["halves"][0])
    with pytest.raises(UsageError, match=r"opt=.* is not one of size, balanced, speed"):
        irtool.build(module, weights, opt=opt, emit="c")


def test_two_values_are_refused() -> None:
    module, weights, _ = _network(CASES["halves"][0])
    with pytest.raises(UsageError, match="the flag opt is given twice: size and speed"):
        irtool.build(module, weights, target="c{opt=size}", opt="speed", emit="c")


def test_builds_of_other_values_are_cached_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text, flags = CASES["halves"]
    stored = [
        _built(text, flags, opt, tmp_path / str(n), cache=True).report["stored_weight_bytes"]
        for n, opt in enumerate(("speed", "balanced", "speed", "balanced"))
    ]
    assert stored[0] == stored[2] and stored[1] == stored[3]


def test_size_means_the_least_code_on_devices() -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("needs arm-none-eabi-gcc (Debian: gcc-arm-none-eabi)")
    device = {"cc": "arm-none-eabi-gcc", "mcpu": "cortex-m4"}
    flags = {
        (opt, n): C(opt=opt, **options).compiler.flags
        for opt in ("size", "balanced")
        for n, options in (("here", {}), ("device", device))
    }
    assert {key for key, words in flags.items() if "-Os" in words} == {("size", "device")}
