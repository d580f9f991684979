"""Weights from memory: the next columns are asked for, and all rows use those at hand."""

import re
from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from irtool.tir.stmt import Prefetch, PrimFunc, pre_order
from tests.schedule.dense import check, lowered_dense

DENSE = """#[version = "0.0.5"]
def @main(%x: Tensor[(39, 64), float32], %w: Tensor[(1024, 64), float32]) { nn.dense(%x, %w, units=1024) }
"""


@pytest.mark.promise("prefetch")
def test_all_rows_share_a_loop_over_the_columns_that_asks_for_the_next(tmp_path: Path) -> None:
    module = irtool.parse(DENSE)
    chance = np.random.default_rng(0)
    x, w = (chance.uniform(-1, 1, s).astype("float32") for s in ((39, 64), (1024, 64)))
    artifact = irtool.build(module, {"w": w}, mcpu="x86-64", out_dir=tmp_path)
    np.testing.assert_allclose(artifact.run([x]), x @ w.T, rtol=1e-5, atol=1e-5)
    source = next(tmp_path.glob("*.c")).read_text()
    assert source.count("  irt_prefetch(") >= 1
    vectors = source.partition(") {\n#if IRT_VECTOR\n")[2].partition("#else")[0]
    assert vectors.count("for (int32_t ax1_o") == 1, "the columns are read once for whole tiles and for the rest"


@pytest.mark.promise("prefetch")
@pytest.mark.parametrize("rows", [1, 4, 12])
def test_few_rows_read_weights_from_memory_in_one_stream(rows: int, tmp_path: Path) -> None:
    module = irtool.parse(DENSE.replace("(39, 64)", f"({rows}, 272)").replace("(1024, 64)", "(1024, 272)"))
    w = np.random.default_rng(0).uniform(-1, 1, (1024, 272)).astype("float32")
    irtool.build(module, {"w": w}, mcpu="x86-64-v4", emit="c", out_dir=tmp_path)
    source = next(tmp_path.glob("*.c")).read_text()
    vectors = source.partition(") {\n#if IRT_VECTOR\n")[2].partition("#else")[0]
    assert f"irt_f32x16 acc_{rows - 1 or ''}" in vectors, "one tile has all rows"
    assert "ax0" not in vectors
    asked = [line for line in vectors.splitlines() if "irt_prefetch(" in line]
    assert bool(asked) == (rows > 1), "a single row leaves its stream to the processor"
    assert all("ax1_o" in x and "irt_min" not in x and re.search(r"\+ 20\d\d\)", x) for x in asked), "8 KiB ahead"


@pytest.mark.promise("prefetch")
def test_many_tiles_of_rows_ask_for_the_next_columns_at_an_even_rate(tmp_path: Path) -> None:
    module = irtool.parse(
        DENSE.replace("(39, 64)", "(120, 64)").replace("(1024, 64)", "(960, 64)").replace("=1024", "=960")
    )
    w = np.ones((960, 64), "float32")
    irtool.build(module, {"w": w}, mcpu="x86-64-v4", emit="c", out_dir=tmp_path)
    source = next(tmp_path.glob("*.c")).read_text()
    (place,) = re.findall(r"irt_prefetch\(p1, (.*)\);", source)
    text = place.replace("irt_min_int32", "min")
    tiles, panel = 13, 64 * 48 // 16
    lines = [
        {int(eval(text, {"ax1_o": 0, "ax0_o": i, "k": k, "min": min})) // 16 - panel for k in range(64)}
        for i in range(tiles)
    ]
    assert set.union(*lines) >= set(range(panel)), "every line of the next columns"
    assert max(map(len, lines)) <= panel // tiles + 3, "no tile asks for many"


@pytest.mark.promise("prefetch")
def test_a_prefetch_by_hand_changes_no_value() -> None:
    lowered, inputs = lowered_dense()
    s = irtool.create_schedule(lowered, "dense")
    stage = s[lowered.outputs[0]]
    rows, columns = (n for n, _ in stage.loops[:2])
    stage.split(rows, [3, 2], ["i", "ii"]).split(columns, [4, 4], ["j", "jj"]).reorder(["j", "i", "ii", "jj"])
    with pytest.raises(UsageError, match="no tile"):
        stage.prefetch("placeholder_1", ahead="j")
    stage.cache_write("ii").unroll("ii").vectorize("jj")
    operand = stage.parts[0].form.update.b.b.source.name
    with pytest.raises(UsageError, match="does not move with i"):
        stage.prefetch(operand, ahead="i")
    with pytest.raises(UsageError, match="moves with j"):
        stage.prefetch(operand, ahead="j", over="j")
    stage.prefetch(operand, ahead="j", over="i")
    with pytest.raises(UsageError, match="not ahead"):
        stage.prefetch(operand, ahead="k", steps=0)
    stage.prefetch(operand, ahead="k", steps=5)
    nest = s.lower()
    assert f"prefetch({operand}, [(((j*32) + k) + 5):" in irtool.to_text(lowered.module(nest)), (
        "in the same columns, 5 steps on"
    )
    assert f"prefetch({operand}, [" in irtool.to_text(lowered.module(nest))
    check(lowered, nest, inputs)


def test_a_prefetch_is_read_of_one_element() -> None:
    lowered, _ = lowered_dense()
    s = irtool.create_schedule(lowered, "dense")
    text = irtool.to_text(lowered.module(s.lower()))
    name = next(line for line in text.splitlines() if "Buffer(" in line).partition("{")[2].partition(":")[0]
    first = next(line for line in text.splitlines() if "for (" in line)
    with_one = text.replace(first, f"  prefetch({name}, [3:4])\n{first}", 1)
    read = [x for f in irtool.parse(with_one).functions.values() if isinstance(f, PrimFunc) for x in pre_order(f.body)]
    assert [x.place.source.name for x in read if isinstance(x, Prefetch)] == [name]
    module = irtool.parse(with_one.replace("[3:4]", "[3:5]"))  # as text, like all that nests here have not
    assert not any(isinstance(f, PrimFunc) for f in module.functions.values())
