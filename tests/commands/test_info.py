"""`irtool info`: as text, as JSON, on a terminal; the page on building shows what it prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from irtool.commands import storage_listing
from tests import command_line

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.relay"))


def irtool(*words: object) -> str:
    code, out, err = command_line.irtool(*words)
    assert code == 0, err
    return out


@pytest.mark.promise("lowering")
def test_the_page_shows_what_the_command_prints(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "building.md").read_text(encoding="utf-8").split("## The storage plan")[1].split("\n## ")[0]
    shown = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    irtool("opt", "-O3", ROOT / "samples/mlp.relay", "-o", tmp_path / "fused.relay")
    session = "$ irtool opt -O3 samples/mlp.relay | irtool info --storage -\n"
    assert shown == [session + irtool("info", "--storage", tmp_path / "fused.relay")]


@pytest.mark.promise("lowering")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.stem)
def test_lowering_a_sample_changes_no_plan(sample: Path, tmp_path: Path) -> None:
    """Ids, devices and reference counts are those of the fused module; kernels have their names, and reshapes stay in place."""
    fused, lowered = tmp_path / "fused.relay", tmp_path / "lowered.relay"
    irtool("opt", "-p", "PlanDevices,FuseOps", "--target=llvm", sample, "-o", fused)
    irtool("opt", "-p", "LowerTE", "--target=llvm", fused, "-o", lowered)
    (before,) = json.loads(irtool("info", "--storage", "--json", "--target=llvm", fused))
    (after,) = json.loads(irtool("info", "--storage", "--json", "--target=llvm", lowered))
    for name, plan in before["functions"].items():
        other = after["functions"][name]
        if "reason" in plan:
            assert "reason" in other
            continue
        for key in ("storage_id", "bytes", "device", "references", "type"):
            assert [v[key] for v in plan["values"]] == [v[key] for v in other["values"]], key
        assert plan["tokens"] == other["tokens"]
    for name, info in before["function_info"].items():
        for size in ("workspace", "io", "constants"):
            assert info[size] == after["function_info"][name][size], (name, size)
    assert before["targets"] == after["targets"]


@pytest.mark.promise("terminals")
def test_on_a_terminal_tables_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[list[tuple[str, ...]]] = []

    def drawer(stream: object) -> object:
        return lambda rows: drawn.append(rows) or "TABLE"

    monkeypatch.setattr(storage_listing, "drawer", drawer)
    text = irtool("info", "--storage", str(ROOT / "samples/mlp.relay"))
    assert text.count("TABLE") == 2 and [c.strip() for c in drawn[0][0]][:2] == ["id", "token"]


def test_json_of_several_files_is_one_list() -> None:
    files = [str(p) for p in SAMPLES[:2]]
    reports = json.loads(irtool("info", "--json", *files))
    assert [f["file"] for f in reports] == files and all("main" in f["functions"] for f in reports)


def test_the_page_shows_the_costs() -> None:
    page = (
        (ROOT / "docs" / "building.md")
        .read_text(encoding="utf-8")
        .split("## Costs before a build")[1]
        .split("\n## ")[0]
    )
    (shown,) = re.findall(r"^```console\n\$ [^\n]*\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert shown == irtool("info", "--memory", "--target=c{mcpu=none}", ROOT / "samples/mlp.relay")


def test_costs_add_up(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {\n'
        "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);\n"
        "  nn.max_pool2d(nn.relu(%0), pool_size=[2, 2], strides=[2, 2])\n}\n"
    )
    (record,) = json.loads(irtool("info", "--cost", "--json", "--target=c{mcpu=none}", path))
    cost = record["cost"]
    assert cost["macs"] == 4 * 8 * 8 * 3 * 3 * 3 == sum(k["macs"] * k["calls"] for k in cost["kernels"])
    assert cost["kernels"][0]["operators"][0] == "nn.conv2d"
    assert 4 * 8 * 8 * 4 <= cost["arena_lower_bound"] <= cost["arena_bytes"]
    assert all(b["offset"] + b["bytes"] <= cost["arena_bytes"] for b in cost["buffers"])
    f = record["functions"]["main"]
    assert (f["parameters"], f["parameter_bytes"], f["dynamic"]) == (2, 4 * (192 + 108), [])
    drawn = irtool("info", "--memory", "--target=c{mcpu=none}", path)
    rows = re.findall(r"^ +(\d+) +(\d+)  ([#.]+)  (\S+)$", drawn, re.MULTILINE)
    assert [(int(o), int(n), name) for o, n, _, name in rows] == sorted(
        (b["offset"], b["bytes"], b["name"]) for b in cost["buffers"]
    )


def test_a_dynamic_dimension_is_named_and_costs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.relay"
    path.write_text(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 4), float32], %y: (Tensor[(2), bfloat16], bool)) { (exp(%x), %y.0) }\n'
    )
    text = irtool("info", path)
    assert "  2 parameters (5 bytes), dynamic: %x[0], result.0[0]\n" in text
    code, out, err = command_line.irtool("info", "--cost", path)
    assert (code, out) == (1, "") and "error" in err
    assert "multiply-adds" in irtool("info", "--cost", "--shape", "x=3,4", path)


@pytest.mark.robustness("mistakes")
def test_costs_and_the_storage_plan_are_two_things() -> None:
    for words in (["--storage", "--cost"], ["--target=c"]):
        code, out, err = command_line.irtool("info", *words, SAMPLES[0])
        assert (code, out) == (2, "") and "error[E0016]" in err
    assert command_line.irtool("info", "--cost", "nothing.relay")[0] == 1
    assert command_line.irtool("info", "--cost", "--target=nothing", SAMPLES[0])[0] == 2


def test_recursion_says_that_it_needs_a_region(tmp_path: Path) -> None:
    """Only a run knows how deep it goes: its frames lie in the region, and not on the stack."""
    body = "if (equal(%n, 0)) { %x } else { add(nn.softmax(%x), @main(nn.softmax(%x), subtract(%n, 1))) }"
    head = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4, 64), float32], %n: int32)'
    (tmp_path / "deep.relay").write_text(f"{head} -> Tensor[(4, 64), float32] {{ {body} }}\n")
    (tmp_path / "flat.relay").write_text(
        f"{head} {{ add(nn.softmax(%x), cast(%n, dtype=float32)) }}\n".replace("=float32)", '="float32")')
    )
    for name, is_deep in (("deep", True), ("flat", False)):
        shown = irtool("info", "--memory", "--target=c{mcpu=none}", tmp_path / f"{name}.relay")
        assert ("behind the arena is a region for the data and the recursion of a run" in shown) == is_deep
        irtool("build", "--emit=c", "--mcpu=none", "--name=net", "-o", tmp_path / name, tmp_path / f"{name}.relay")
        header = (tmp_path / name / "net.h").read_text()
        assert ("#define NET_REGION_SIZE 262208u" in header) == is_deep
