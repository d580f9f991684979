"""Networks whose workspace and weights lie in pools: the same values, inside of each pool, and clear errors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool import relay
from irtool.diagnostics import IrError, ToolError, UsageError
from irtool.relay.memory_pools import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from irtool.tir.mistakes import PoolsTooSmall
from tests.command_line import irtool as irtool_command
from tests.driver.programs import SANITIZED, compile_c, parse, run

pytestmark = pytest.mark.usefixtures("quick_compiles")

NETWORK = """def @main(%x: Tensor[(1, 8, 16), float32], %w: Tensor[(1, 16, 16), float32], %v: Tensor[(1, 16, 16), float32]) {
  %0 = nn.batch_matmul(%x, %w);
  %1 = nn.softmax(%0);
  %2 = nn.batch_matmul(%1, %v);
  %3 = cumsum(add(%0, %2), axis=1);
  %4 = nn.softmax(multiply(%3, %1));
  (nn.softmax(add(%4, %0)), %2)
}
"""
TARGET = 'c{{mcpu=none,workspace_pools="sram,dram",workspace_pools_size_hint_bytes="sram:{}"}}'
CALLED = """def @helper(%x: Tensor[(4, 64), float32]) { nn.softmax(cumsum(nn.softmax(%x), axis=1)) }
def @main(%x: Tensor[(4, 64), float32]) {
  let %y = @helper(%x);
  add(@helper(%y), nn.softmax(%x))
}
"""
RECURSIVE = """def @main(%x: Tensor[(4, 64), float32], %n: int32) -> Tensor[(4, 64), float32] {
  if (equal(%n, 0)) { %x } else { add(nn.softmax(%x), @main(nn.softmax(%x), subtract(%n, 1))) }
}
"""


def arrays(module: irtool.Module, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    kinds = [p.checked_type for p in module["main"].params]
    return [rng.standard_normal([int(d) for d in k.shape]).astype(k.dtype) for k in kinds]


@pytest.mark.parametrize("sram", [64, 1100, 100000])
def test_values_are_those_of_one_arena(sram: int) -> None:
    module = irtool.infer_types(parse(NETWORK))
    inputs = arrays(module)
    artifact = irtool.build(module, target=TARGET.format(sram))
    for got, want in zip(artifact.run(inputs), irtool.evaluate(module, inputs), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    taken = {p["name"]: p["bytes"] for p in artifact.report["workspace_pools"]}
    assert taken["sram"] + 64 <= max(sram, 64) and sum(taken.values()) == artifact.arena_bytes
    assert (taken["dram"] == 0) == (sram == 100000)
    for b in artifact.report["buffers"]:
        assert b["offset"] + b["bytes"] <= taken[b["pool"]]


def test_a_caller_hands_over_each_pool(tmp_path: Path) -> None:
    """Pools of just the stated bytes, at addresses that are not aligned; an input has the name of a macro's middle."""
    module = irtool.infer_types(parse(NETWORK.replace("%x", "%sram_pool").replace("%w", "%room")))
    inputs = arrays(module)
    irtool.build(module, target=TARGET.format(1100), emit="c", name="net", out_dir=tmp_path)
    tensors = "".join(
        f"static const float in{n}[] = {{{', '.join(f'{v!r}f' for v in a.ravel().tolist())}}};\n"
        for n, a in enumerate(inputs)
    )
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <stdio.h>\n#include <stdlib.h>\n'
        f"{tensors}static float out0[NET_OUT0_SIZE], out1[NET_OUT1_SIZE];\n"
        "int main(void) {\n"
        "  unsigned i;\n"
        "  struct net_workspace_pools pools = {0};\n"
        "  char *sram = malloc(NET_SRAM_POOL_SIZE + 1), *dram = malloc(NET_DRAM_POOL_SIZE + 1);\n"
        "  pools.sram = sram + 1;\n"
        "  if (net_run_in_pools(0, in0, in1, in2, out0, out1) != 1) return 2;\n"
        "  if (net_run_in_pools(&pools, in0, in1, in2, out0, out1) != 1) return 3;\n"
        "  pools.dram = dram + 1;\n"
        "  if (net_run_in_pools(&pools, in0, in1, in2, out0, out1)) return 4;\n"
        '  for (i = 0; i < NET_OUT0_SIZE; ++i) printf("%.9g\\n", (double)out0[i]);\n'
        "  free(sram); free(dram);\n  return 0;\n}\n"
    )
    done = run(compile_c(tmp_path, "main", "main.c", "net.c", flags=SANITIZED))
    assert done.returncode == 0, done.stderr
    want = irtool.evaluate(module, inputs)[0]
    np.testing.assert_allclose(np.array(done.stdout.split(), "float32"), want.ravel(), rtol=1e-4, atol=1e-5)
    header = (tmp_path / "net.h").read_text()
    assert int(re.search(r"NET_SRAM_POOL_SIZE (\d+)u", header)[1]) <= 1100


@pytest.mark.parametrize("options", ["mcpu=x86-64-v2,x86-64-v3", "openmp=true", "weights=file"])
def test_pools_go_with_other_ways_to_build(options: str) -> None:
    module = irtool.infer_types(parse(NETWORK))
    x, *weights = arrays(module)
    key, value = options.split("=")
    flags = {key: {"true": True}.get(value, value)}
    pools = {"workspace_pools": ("sram", "dram"), "workspace_pools_size_hint_bytes": ("sram:1100",)}
    artifact = irtool.build(module, dict(zip("wv", weights, strict=True)), target="c", flags=pools, **flags)
    for got, want in zip(artifact.run([x]), irtool.evaluate(module, [x, *weights]), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("entries", [("main",), ("main", "helper"), ("helper", "main")])
def test_the_frame_of_a_called_function_lies_whole_in_a_pool(entries: tuple[str, ...]) -> None:
    module = irtool.infer_types(parse(CALLED))
    [x] = arrays(module)
    artifact = irtool.build(module, target=TARGET.format(1200), entry=entries)
    for entry in entries:
        np.testing.assert_allclose(
            artifact.run([x], entry=entry), irtool.evaluate(module, [x], entry=entry), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("levels", ["none", "x86-64-v2,x86-64-v3"])
@pytest.mark.parametrize("openmp", [False, True])
def test_the_region_of_recursion_lies_in_the_first_pool_with_room(levels: str, openmp: bool) -> None:
    module = irtool.infer_types(parse(RECURSIVE))
    x = np.random.default_rng(0).standard_normal((4, 64)).astype("float32")
    pools = {"workspace_pools": ("a", "b", "c"), "workspace_pools_size_hint_bytes": ("a:4200", "b:200000")}
    artifact = irtool.build(module, target="c", mcpu=levels, openmp=openmp, flags={**pools, "region_size": "150000"})
    for n in (0, 1, 50):
        inputs = [x, np.int32(n)]
        np.testing.assert_allclose(artifact.run(inputs), irtool.evaluate(module, inputs), rtol=1e-4, atol=1e-5)
        assert 0 < artifact.region_used <= 150016 and (n == 0 or artifact.region_used > n * 1024)
    taken = {p["name"]: p["bytes"] for p in artifact.report["workspace_pools"]}
    assert 0 < taken["a"] <= 4200 and 150000 < taken["b"] <= 200000 and taken["c"] == 0
    with pytest.raises(ToolError, match="region is full"):
        artifact.run([x, np.int32(1000)])


DATA = """type Tree { Leaf(Tensor[(4), float32]), Fork(Tree, Tree), }
def @double(%t: Tree) -> Tree {
  match (%t) { Leaf(%x) => { Leaf(%x * 2f) }, Fork(%l, %r) => { Fork(@double(%l), @double(%r)) }, }
}
def @main(%t: Tree, %x: Tensor[(64, 64), float32]) -> (Tree, Tensor[(64, 64), float32]) {
  (@double(%t), nn.softmax(cumsum(nn.softmax(%x), axis=1)))
}
"""


def test_callers_hand_over_values_and_pools(tmp_path: Path) -> None:
    """Pools of just the stated bytes, under sanitizers."""
    module = irtool.infer_types(parse(DATA))
    flags = {
        "workspace_pools": ("sram", "dram"),
        "workspace_pools_size_hint_bytes": ("sram:20000",),
        "region_size": "30000",
    }
    irtool.build(module, target="c", emit="c", name="net", out_dir=tmp_path, flags=flags)
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <stdlib.h>\n'
        "static int64_t memory[1000];\nstatic float x[NET_X_SIZE], out1[NET_OUT1_SIZE];\n"
        "int main(void) {\n"
        "  static const float one[4] = {1, 2, 3, 4};\n"
        "  struct net_values *values = net_values_begin(memory, sizeof memory);\n"
        "  int64_t tree = net_Fork(values, net_Leaf(values, one), net_Leaf(values, one)), twice;\n"
        "  struct net_workspace_pools pools = {0};\n"
        "  pools.sram = malloc(NET_SRAM_POOL_SIZE);\n"
        "  pools.dram = malloc(NET_DRAM_POOL_SIZE);\n"
        "  if (net_run_in_pools(&pools, values, &tree, x, &twice, out1)) return 2;\n"
        "  if (net_Leaf_0(values, net_Fork_1(values, twice))[3] != 8) return 3;\n"
        "  if (net_run(values, &tree, x, &twice, out1)) return 4;\n"
        "  free(pools.sram); free(pools.dram);\n  return 0;\n}\n"
    )
    done = run(compile_c(tmp_path, "main", "main.c", "net.c", flags=SANITIZED))
    assert done.returncode == 0, done.stderr
    assert int(re.search(r"NET_DRAM_POOL_SIZE (\d+)u", (tmp_path / "net.h").read_text())[1]) >= 30000


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (NETWORK, 'c{workspace_pools="a,b",workspace_pools_size_hint_bytes="a:700,b:200"}', "none of a (700 bytes), b (200 bytes)"),
        (RECURSIVE, 'c{workspace_pools="a",workspace_pools_size_hint_bytes="a:64000"}', "the region for data and recursion"),
        (CALLED, 'c{workspace_pools="a",workspace_pools_size_hint_bytes="a:64"}', "the workspace pools are too small"),
    ],
)  # fmt: skip
def test_pools_that_cannot_be_are_refused(text: str, target: str, message: str) -> None:
    with pytest.raises(IrError) as error:
        irtool.build(parse(text), target=target, emit="c")
    assert message in error.value.diagnostics[0].message and error.value.diagnostics[0].code is PoolsTooSmall


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"workspace_pools": "int"}, "'int' cannot be the name of a pool"),
        ({"workspace_pools": "a b"}, "'a b' cannot be the name of a pool"),
        ({"workspace_pools": "Sram,sram"}, "differ in the case of letters only"),
        ({"workspace_pools": "sram", "workspace_pools_size_hint_bytes": "dram:5"}, "unknown pool 'dram'"),
        ({"workspace_pools": "sram", "workspace_pools_size_hint_bytes": "sram"}, "'sram' is not NAME:BYTES"),
        ({"workspace_pools": "sram", "workspace_pools_size_hint_bytes": "sram:-2"}, "'sram:-2' is not NAME:BYTES"),
        ({"workspace_pools": "sram", "workspace_pools_size_hint_bytes": "sram:64K"}, "'sram:64K' is not NAME:BYTES"),
        ({"workspace_pools": "sram", "workspace_pools_size_hint_bytes": "sram:5,sram:6"}, "the pool sram has two sizes"),
        ({"workspace_pools_size_hint_bytes": "sram:5"}, "unknown pool 'sram'"),
        ({"workspace_pools": "m", "constant_pools": "m"}, "a pool is for constants or for the workspace"),
    ],
)  # fmt: skip
def test_flags_of_pools_that_mean_nothing_are_refused(flags: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        irtool.build(parse(NETWORK), target="c", emit="c", flags=flags)


@pytest.mark.parametrize("weights", ["inline", "split"])
def test_each_weight_lies_in_the_first_pool_with_room(weights: str, tmp_path: Path) -> None:
    module = irtool.infer_types(parse(NETWORK))
    _, *values = arrays(module)
    pools = {"constant_pools": ("flash", "ospi"), "constant_pools_size_hint_bytes": ("flash:1500",)}
    bound = dict(zip("wv", values, strict=True))
    artifact = irtool.build(
        module, bound, target="c{mcpu=none}", name="net", weights=weights, out_dir=tmp_path, flags=pools
    )
    flash, ospi = artifact.report["constant_pools"]
    assert 0 < flash["bytes"] <= 1500 and ospi["bytes"] > 0
    text = (tmp_path / ("net.c" if weights == "inline" else "net_weights.c")).read_text()
    assert re.search(r"NET_FLASH_POOL_ATTR const float", text) and re.search(r"NET_OSPI_POOL_ATTR const float", text)
    assert f"#define NET_FLASH_POOL_SIZE {flash['bytes']}u" in (tmp_path / "net.h").read_text()
    with pytest.raises(UsageError, match="weights in a file are in no pool"):
        irtool.build(module, bound, target="c{mcpu=none}", weights="file", flags=pools)
    with pytest.raises(IrError, match="the constant pools are too small"):
        irtool.build(module, bound, target="c{mcpu=none}", weights=weights, flags={**pools, "constant_pools": "flash"})


def test_records_of_tvm_name_the_pools() -> None:
    module = irtool.infer_types(parse(NETWORK))
    workspace = WorkspaceMemoryPools(
        [WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(size_hint_bytes=1100)), WorkspacePoolInfo("dram", ["c"])]
    )
    constants = ConstantMemoryPools([ConstantPoolInfo("flash", ["c"])])
    inputs = arrays(module)
    artifact = relay.build(module, "c", workspace_memory_pools=workspace, constant_memory_pools=constants)
    assert [(p["name"], p["size_hint_bytes"]) for p in artifact.report["workspace_pools"]] == [
        ("sram", 1100),
        ("dram", None),
    ]
    np.testing.assert_allclose(artifact.run(inputs)[0], irtool.evaluate(module, inputs)[0], rtol=1e-4, atol=1e-5)


def test_commands_show_the_pools(tmp_path: Path) -> None:
    net, report = tmp_path / "net.relay", tmp_path / "report.json"
    net.write_text('#[version = "0.0.5"]\n' + NETWORK)
    code, shown, _ = irtool_command("info", "--memory", f"--target={TARGET.format(1100)}", net)
    assert code == 0
    assert re.search(
        r"workspace pool sram: \d+ bytes \(of 1100\)\n  workspace pool dram: \d+ bytes \(no limit\)", shown
    )
    assert re.search(r"  pool +offset +bytes", shown) and re.search(r"  dram +0 +\d+  [#.]+  ", shown)
    pools = ["--workspace-pools=sram,dram", "--workspace-pools-size-hint-bytes=sram:1100"]
    code, _, _ = irtool_command(
        "build", "--emit=c", "--mcpu=none", *pools, "-o", tmp_path / "out", f"--report={report}", net
    )
    assert code == 0
    assert [p["name"] for p in json.loads(report.read_text())["workspace_pools"]] == ["sram", "dram"]
