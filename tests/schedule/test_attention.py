"""Attention is one kernel, whatever stands between its products, and gives what the interpreter gives."""

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.diagnostics import UsageError
from tests.backends.instructions import require_processor
from tests.schedule.masked_attention import MASKED, SHAPES

pytestmark = pytest.mark.promise("attention")


@pytest.fixture(autouse=True)
def quick_compiles(monkeypatch):
    monkeypatch.setenv("CFLAGS", "-O1")


def module_and_inputs(text: str, params: dict, change=None):
    """A module of float32 parameters of these shapes, and values for them, drawn and then changed."""
    declared = ", ".join(f"%{n}: Tensor[({', '.join(map(str, s))}), float32]" for n, s in params.items())
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({declared}) {{\n{text}\n}}\n'))
    generator = np.random.RandomState(3)
    inputs = {n: generator.randn(*s).astype("float32") for n, s in params.items()}
    if change is not None:
        change(inputs)
    return module, inputs


def run(text: str, params: dict, change=None, **options):
    """The build of a module, whose results are those of the interpreter."""
    module, inputs = module_and_inputs(text, params, change)
    artifact = irtool.build(module, **options)
    want, got = irtool.evaluate(module, inputs), artifact.run(inputs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * float(np.nanmax(np.abs(want))))
    return artifact, got


def strategies(artifact) -> list[str]:
    return [k["strategy"] for k in artifact.report["kernels"]]


@pytest.mark.parametrize("options", [{"mcpu": "x86-64-v3"}, {"openmp": True}], ids=["avx2", "threads"])
def test_scaled_and_masked(options):
    artifact, _ = run(MASKED, SHAPES, **options)
    assert strategies(artifact) == ["attention"]
    assert artifact.arena_bytes < 4 * 6 * 33 * 70, "scores are never stored whole"


def test_rows_without_a_key_and_nan():
    def mask(inputs):
        inputs["m"][0, 0, 5] = -np.inf  # no key at all
        inputs["m"][1, 0, 7, 3:] = -np.inf
        inputs["k"][4, 11, 2] = np.nan

    artifact, got = run(MASKED, SHAPES, mask)
    assert strategies(artifact) == ["attention"]
    assert np.isnan(got[0:3, 5]).all() and np.isnan(got[4]).all() and not np.isnan(got[5]).any()


@pytest.mark.parametrize("rows", [256, 197], ids=["even", "prime"])
def test_a_single_head_shares_tiles_among_threads(rows):
    text = "  nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=False)), %v, transpose_b=False)"
    artifact, _ = run(text, {"q": (1, rows, 32), "k": (1, 32, 75), "v": (1, 75, 32)}, openmp=True)
    assert strategies(artifact) == ["attention"] and artifact.arena_bytes == 0


@pytest.mark.parametrize(("columns", "place"), [(1501, "on the stack"), (4101, "in the cache")])
def test_long_rows(columns, place):
    """Whole vectors of 1504 and 4104 elements; where the stack has no room for a tile, the workspace has."""
    text = "  nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=False)), %v, transpose_b=True)"
    artifact, _ = run(text, {"q": (3, 50, 16), "k": (3, 16, columns), "v": (3, 17, columns)}, mcpu="x86-64-v3")
    assert strategies(artifact) == ["attention"]
    reason = artifact.report["kernels"][0]["reason"]
    assert ("packed keys and values" if columns > 4000 else "packed values") in reason and place in reason
    assert artifact.arena_bytes < 4 * 3 * 50 * columns


@pytest.mark.parametrize("most_parts", [1, 2, 4])
def test_parts_of_several_products(most_parts):
    """Where the stack is too small for a tile, a part of the products shares one in the workspace: 6, 3 or 2 of them each."""
    target = f"c{{mcpu=x86-64-v3,tiles_bytes=1024,most_parts={most_parts}}}"
    artifact, _ = run(MASKED, SHAPES, target=target)
    assert strategies(artifact) == ["attention"]
    assert "in the cache" in artifact.report["kernels"][0]["reason"]


@pytest.mark.parametrize("columns", [50, 49, 23])
def test_exponentials_that_take_the_place_of_scores_are_made_once(columns):
    """They replace what they are made from: the last vector of a row does not overlap the one before."""
    text = """
  %0 = nn.batch_matmul(%q, %k, transpose_b=True);
  nn.batch_matmul(nn.softmax(multiply(%0, 0.35f)), %v, transpose_b=False)
"""
    params = {"q": (3, 33, 8), "k": (3, columns, 8), "v": (3, columns, 16)}
    target = "c{recomputed_cost=100,parallel_updates=500}"
    artifact, _ = run(text, params, target=target, mcpu="x86-64")
    assert strategies(artifact) == ["attention"]


def test_scores_that_others_read_are_kept():
    text = """
  %0 = nn.batch_matmul(%q, %k, transpose_b=True);
  (nn.batch_matmul(nn.softmax(%0), %v, transpose_b=False), %0)"""
    params = {"q": (4, 32, 32), "k": (4, 64, 32), "v": (4, 64, 32)}
    declared = ", ".join(f"%{n}: Tensor[{s}, float32]" for n, s in params.items())
    module = irtool.infer_types(irtool.parse(f'#[version = "0.0.5"]\ndef @main({declared}) {{\n{text}\n}}\n'))
    assert "attention" not in strategies(irtool.build(module))


def test_layers_with_a_function_between_are_no_attention():
    text = "  nn.dense(nn.relu(nn.dense(%q, %k, units=64)), %v, units=48)"
    artifact, _ = run(text, {"q": (96, 48), "k": (64, 48), "v": (48, 64)})
    assert "attention" not in strategies(artifact)


def test_a_mask_leaves_no_subnormal_number():
    """exp(-100) is subnormal, and slow to compute with: it counts as 0 beside the 1 that each row has."""

    def mask(inputs):
        inputs["m"][...] = 0
        inputs["m"][..., 40:] = -100
        inputs["q"][...] = 0
        inputs["v"][...] = 1
        inputs["v"][:, 41] = 1e38

    artifact, got = run(MASKED, SHAPES, mask)
    assert strategies(artifact) == ["attention"] and (got == 1).all(), "not 1 + 1e-7"


def test_tiles_of_other_heights_are_offered_and_chosen_by_hand():
    artifact, _ = run(MASKED, SHAPES, schedule='.*softmax.*:\n  choose("attention: 11 rows")\n')
    (kernel,) = artifact.report["kernels"]
    assert kernel["strategy"] == "by_hand" and "11 rows of 70 at a time" in kernel["reason"]
    for wrong, message in (
        ('choose("attention: 99 rows")', "no strategy offers 'attention: 99 rows'"),
        ("vectorize(ax0)", "is no map and no reduction"),
        ("choose(3)", "choose stands alone"),
    ):
        with pytest.raises(UsageError, match=message):
            run(MASKED, SHAPES, schedule=f".*softmax.*:\n  {wrong}\n")


ROUNDED = MASKED.replace("70", "71")
ROUNDED_SHAPES = {"q": (6, 33, 23), "k": (6, 71, 23), "v": (6, 71, 20), "m": (2, 1, 33, 71)}
PAIRED = "mcpu=x86-64-v3,paired_products=2"


def run_rounded(text: str, target: str, change=None, **options):
    """The build of a module in bfloat16, whose results are near those of the same passes in the interpreter, and these."""
    module, inputs = module_and_inputs(text, ROUNDED_SHAPES, change)
    artifact = irtool.build(module, precision="bfloat16", target=f"c{{{target}}}", **options)
    exact = irtool.evaluate(module, inputs)
    want = irtool.evaluate(irtool.run_passes(module, 'ReducePrecision{dtype="bfloat16"}'), inputs)
    got = artifact.run(inputs)
    largest = float(np.nanmax(np.abs(exact)))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-2 * largest)
    assert np.nanmax(np.abs(got - exact)) <= 1.5 * np.nanmax(np.abs(want - exact)), "rounded no oftener"
    return artifact, got


@pytest.mark.parametrize("target", [PAIRED, f"{PAIRED},tiles_bytes=1024,most_parts=2"], ids=["stack", "workspace"])
@pytest.mark.parametrize("openmp", [False, True], ids=["alone", "threads"])
def test_bfloat16_is_made_of_pairs(target, openmp):
    """Odd numbers of columns and of what is summed: the last word of each is half full."""
    artifact, _ = run_rounded(ROUNDED, target, openmp=openmp)
    *copies, last = strategies(artifact)
    assert last == "attention" and set(copies) == {"elementwise"}, "what is rounded, and what is computed from that"


def test_bfloat16_that_is_no_quotient():
    """The product with a mask is rounded, not the exponential before it."""
    text = ROUNDED.replace("nn.softmax(%1)", "multiply(nn.softmax(%1), %m)")
    artifact, _ = run_rounded(text, PAIRED)
    assert strategies(artifact)[-1] == "attention"


def test_bfloat16_without_a_key_and_nan():
    def mask(inputs):
        inputs["m"][0, 0, 5] = -np.inf  # no key at all
        inputs["m"][1, 0, 7, 3:] = -np.inf
        inputs["k"][4, 11, 2] = np.nan

    _, got = run_rounded(ROUNDED, PAIRED, mask)
    assert np.isnan(got[0:3, 5]).all() and np.isnan(got[4]).all() and not np.isnan(got[5]).any()


def test_bfloat16_on_this_processor():
    run_rounded(ROUNDED, "mcpu=native")


@pytest.mark.parametrize("mcpu", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("is_transposed", [True, False], ids=["turned", "contiguous"])
@pytest.mark.parametrize("keys", [40, 600])
def test_narrow_vectors_read_keys_and_values_in_panels(
    keys: int, is_transposed: bool, mcpu: str, tmp_path: Path
) -> None:
    """Of rows wider than a tile, each tile has a part: copies of values lie in panels, and many contiguous rows are copied for it."""
    require_processor(mcpu)
    k, v = ((2, keys, 64), (2, 64, keys)) if is_transposed else ((2, 64, keys), (2, keys, 64))
    text = f"""
      %0 = nn.softmax(nn.batch_matmul(%q, %k, transpose_b={is_transposed}));
      nn.batch_matmul(%0, %v, transpose_b={is_transposed})"""
    artifact, _ = run(text, {"q": (2, 100, 64), "k": k, "v": v}, mcpu=mcpu, out_dir=tmp_path)
    assert strategies(artifact) == ["attention"]
    module, _ = module_and_inputs(text, {"q": (2, 100, 64), "k": k, "v": v})
    irtool.build(module, mcpu=mcpu, emit="tir", out_dir=tmp_path, name="nest")
    nest = (tmp_path / "nest.tir").read_text()
    copied = is_transposed or keys == 600
    assert ("allocate(values:" in nest) == copied
    if copied and mcpu == "x86-64-v3":  # a tile has two vectors of 8 columns
        assert "floormod(i2, 16)" in nest.partition("allocate(values:")[2].partition("\n")[0]


VALUES_FIRST = {
    "turned": "nn.batch_matmul(%v, transpose(%1, axes=[0, 2, 1]), transpose_b=False)",
    "as they are": "nn.batch_matmul(%v, %1, transpose_b=True)",
    "with an epilogue": "nn.relu(add(nn.batch_matmul(%v, transpose(%1, axes=[0, 2, 1]), transpose_b=False), %w))",
    "as an image": "reshape(nn.batch_matmul(%v, transpose(%1, axes=[0, 2, 1]), transpose_b=False), newshape=[1, 120, 9, 11])",
}
SHAPES_FIRST = {"q": (6, 99, 24), "k": (6, 200, 24), "v": (6, 20, 200), "w": (6, 20, 99)}


@pytest.mark.parametrize("product", VALUES_FIRST.values(), ids=VALUES_FIRST)
@pytest.mark.parametrize("options", [{"mcpu": "x86-64-v3"}, {"openmp": True}], ids=["avx2", "threads"])
def test_values_come_first(product: str, options: dict):
    """Images have their channels apart: what attention gives has, too."""
    text = f"""
  %0 = multiply(nn.batch_matmul(%q, %k, transpose_b=True), 0.2f);
  %1 = nn.softmax(%0);
  {product}"""
    artifact, _ = run(text, SHAPES_FIRST, **options)
    assert strategies(artifact)[0] == "attention" and "row_reduction" not in strategies(artifact)
    assert artifact.arena_bytes < 4 * 6 * 99 * 200, "scores are never stored whole"


@pytest.mark.parametrize(
    "product",
    [
        "nn.batch_matmul(%v, %1, transpose_b=False)",
        "nn.batch_matmul(transpose(%1, axes=[0, 2, 1]), transpose(%v, axes=[0, 2, 1]), transpose_b=False)",
    ],
    ids=["values first", "values second"],
)
def test_a_sum_over_queries_is_no_attention(product: str):
    """There are as many queries as keys, so that sizes do not tell."""
    text = f"""
  %0 = nn.batch_matmul(%q, %k, transpose_b=True);
  %1 = nn.softmax(multiply(%0, 0.2f));
  {product}"""
    artifact, _ = run(text, {"q": (6, 48, 24), "k": (6, 48, 24), "v": (6, 20, 48)})
    assert "attention" not in strategies(artifact)
