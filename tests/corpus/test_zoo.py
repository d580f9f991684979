"""Real networks, where a zoo of them stands beside the checkout: text, types, values, and the C of some."""

from __future__ import annotations

import ctypes
import gzip
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irtool

SHARED = Path(__file__).parent.parent.parent.parent / "shared"
ZOO = SHARED / "zoo"

pytestmark = pytest.mark.skipif(not ZOO.is_dir(), reason="no zoo beside the checkout")

TEXTS = sorted([*ZOO.rglob("*.relay"), *ZOO.rglob("*.relay.gz")])


def zoo() -> Any:
    spec = importlib.util.spec_from_file_location("zoo_tools", SHARED / "tools" / "zoo.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as source:
            return source.read()
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: str(p.relative_to(ZOO)))
def test_text_round_trips(path: Path) -> None:
    module = irtool.parse(read(path), filename=path.name)
    text = irtool.to_text(module)
    again = irtool.parse(text)
    assert irtool.structural_equal(module, again)
    assert irtool.to_text(again) == text


@pytest.mark.parametrize("name", ["mlp", "squeezenet", "resnet18", "dqn"])
def test_interpreter_agrees(name: str) -> None:
    tools = zoo()
    module = irtool.infer_types(irtool.parse(read(ZOO / name / "model.relay")))
    tools.check(name, irtool.evaluate(module, tools.feeds(name)))


@pytest.mark.parametrize("name", ["mlp", "squeezenet", "resnet18", "unet"])
def test_compiled_network_agrees(name: str) -> None:
    tools = zoo()
    arrays = tools.feeds(name)
    inputs = set(json.loads((ZOO / name / "info.json").read_text())["inputs"])
    module = irtool.parse(read(ZOO / name / "model.relay"))
    artifact = irtool.build(module, params={k: v for k, v in arrays.items() if k not in inputs})
    tools.check(name, artifact.run({k: arrays[k] for k in arrays if k in inputs}))


@pytest.mark.parametrize("name", ["mlp", "dqn", "resnet18", "squeezenet", "mobilenet_v2"])
def test_what_is_in_the_workspace_does_not_matter(name: str, tmp_path: Path) -> None:
    arrays = zoo().feeds(name)
    info = json.loads((ZOO / name / "info.json").read_text())
    module = irtool.parse(read(ZOO / name / "model.relay"))
    params = {k: v for k, v in arrays.items() if k not in info["inputs"]}
    artifact = irtool.build(module, params=params, out_dir=tmp_path)
    artifact.run({k: arrays[k] for k in info["inputs"]})  # loads the weights
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    inputs = [np.ascontiguousarray(arrays[t["name"]].astype(t["dtype"])) for t in artifact.report["inputs"]]
    header = (tmp_path / "model.h").read_text()
    size = int(re.search(r"define MODEL_ARENA_SIZE (\d+)u", header)[1])  # type: ignore[index]
    results = []
    for paint in (0x00, 0xFF):
        arena = np.full(size, paint, "uint8")
        outputs = [np.full(t["bytes"], paint, "uint8") for t in artifact.report["outputs"]]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (*inputs, *outputs)]
        assert library.model_run_with(ctypes.c_void_p(arena.ctypes.data), ctypes.c_size_t(size), *pointers) == 0
        results.append([o.tobytes() for o in outputs])
    assert results[0] == results[1]
