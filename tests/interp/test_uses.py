"""Made-up values are of the kind that the graph tells: weights by fan-in, variances positive, indices in range."""

from __future__ import annotations

import numpy as np
import pytest

import irtool
from irtool.interp.random_inputs import random_inputs
from irtool.interp.value_hints import Uses
from irtool.ops.typical import Below, NearOne, NearZero, Summed

pytestmark = pytest.mark.promise("values in range")


def module_of(text: str) -> irtool.Module:
    return irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + text))


def uses_of(text: str) -> dict[str, object]:
    module = module_of(text)
    uses = Uses(module["main"], module)
    return {p.name: uses.of(p) for p in module["main"].params}


CASES = {
    "conv2d": (
        "def @main(%x: Tensor[(1, 8, 9, 9), float32], %w: Tensor[(16, 8, 3, 3), float32]) { nn.conv2d(%x, %w, padding=[0, 0, 0, 0]) }",
        {"x": None, "w": Summed(72)},
    ),
    "grouped, in another layout": (
        "def @main(%x: Tensor[(1, 9, 9, 8), float32], %w: Tensor[(3, 3, 2, 16), float32]) { nn.conv2d(%x, %w, padding=[0, 0, 0, 0], "
        'groups=4, channels=16, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO") }',
        {"x": None, "w": Summed(18)},
    ),
    "transposed": (
        "def @main(%x: Tensor[(1, 8, 5, 5), float32], %w: Tensor[(8, 4, 2, 2), float32]) "
        "{ nn.conv2d_transpose(%x, %w, channels=4, kernel_size=[2, 2], padding=[0, 0, 0, 0], kernel_layout=\"IOHW\") }",
        {"x": None, "w": Summed(32)},
    ),
    "dense": (
        "def @main(%x: Tensor[(2, 50), float32], %w: Tensor[(10, 50), float32], %b: Tensor[(10), float32]) "
        "{ nn.bias_add(nn.dense(%x, %w, units=10), %b, axis=-1) }",
        {"x": None, "w": Summed(50), "b": NearZero()},
    ),
    "weights moved": (
        "def @main(%x: Tensor[(4, 2, 50), float32], %w: Tensor[(50, 10), float32]) "
        '{ nn.batch_matmul(%x, expand_dims(cast(transpose(%w, axes=[1, 0]), dtype="float32"), axis=0), transpose_b=True, out_dtype="float32") }',
        {"x": None, "w": Summed(50)},
    ),
    "two uses": (
        "def @main(%x: Tensor[(2, 10), float32], %w: Tensor[(10, 10), float32], %y: Tensor[(3, 100), float32]) "
        "{ (nn.dense(%x, %w, units=10), nn.dense(%y, reshape(%w, newshape=[1, 100]), units=None)) }",
        None,
    ),
    "batch_norm": (
        "def @main(%x: Tensor[(1, 8, 4, 4), float32], %g: Tensor[(8), float32], %b: Tensor[(8), float32], %m: Tensor[(8), float32], "
        "%v: Tensor[(8), float32]) { %0 = nn.batch_norm(%x, %g, %b, %m, %v); %0.0 }",
        {"x": None, "g": NearOne(), "b": NearZero(), "m": NearZero(), "v": NearOne()},
    ),
    "layer_norm written out": (
        "def @main(%x: Tensor[(4, 8), float32], %g: Tensor[(8), float32], %b: Tensor[(8), float32], %v: Tensor[(4, 1), float32]) "
        "{ add(multiply(divide(%x, sqrt(add(%v, 1e-5f))), %g), %b) }",
        {"x": None, "g": NearOne(), "b": NearZero(), "v": NearOne()},
    ),
    "embedding": (
        "def @main(%t: Tensor[(100, 16), float32], %i: Tensor[(1, 7), int64]) { take(%t, cast(%i, dtype=\"int32\"), axis=0) }",
        {"t": None, "i": Below(100)},
    ),
    "gather_nd": (
        "def @main(%x: Tensor[(5, 3, 9), float32], %i: Tensor[(2, 4), int32]) { gather_nd(%x, %i) }",
        {"x": None, "i": Below(3)},
    ),
    "adv_index": (
        "def @main(%x: Tensor[(5, 3), float32], %i: Tensor[(4), int64], %j: Tensor[(4), int64]) { adv_index((%x, %i, %j)) }",
        {"x": None, "i": Below(5), "j": Below(3)},
    ),
    "a divisor": (
        "def @main(%x: Tensor[(5), int32], %y: Tensor[(5), int32]) { floor_divide(%x, %y) }",
        {"x": None, "y": NearOne()},
    ),
    "through a call, a let, a tuple and a branch": (
        "def @layer(%a: Tensor[(2, 50), float32], %b: Tensor[(50, 50), float32]) { nn.dense(%a, %b, units=50) }\n"
        "def @main(%x: Tensor[(2, 50), float32], %w: Tensor[(50, 50), float32], %c: bool) "
        "{ let %p = (%w, %x); if (%c) { @layer(%p.1, %p.0) } else { %p.1 } }",
        {"x": None, "w": Summed(50), "c": None},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_uses_tell_the_kind(case: str) -> None:
    text, expected = CASES[case]
    if expected is not None:
        assert uses_of(text) == expected
    else:
        assert uses_of(text)["w"] == Summed(100)  # the larger sum decides


def test_fields_of_a_tuple_are_told_apart() -> None:
    module = module_of(
        "def @main(%t: (Tensor[(10, 50), float32], (Tensor[(2, 50), float32], Tensor[(3), int32]))) "
        "{ take(nn.dense(%t.1.0, %t.0, units=10), %t.1.1, axis=1) }"
    )
    uses = Uses(module["main"], module)
    (t,) = module["main"].params
    assert [uses.of(t, path) for path in ((0,), (1, 0), (1, 1))] == [Summed(50), None, Below(10)]


NETWORK = """def @main(%x: Tensor[(1, 16, 8, 8), float32], PARAMS) {
LAYERS
  %LAST
}
"""


def deep_network(layers: int) -> irtool.Module:
    params, lines = [], []
    for n in range(layers):
        params += [f"%w{n}: Tensor[(16, 16, 3, 3), float32]"]
        params += [f"%{k}{n}: Tensor[(16), float32]" for k in "gbmv"]
        data = "%x" if n == 0 else f"%{2 * n - 1}.0"
        lines += [f"  %{2 * n} = nn.relu(nn.conv2d({data}, %w{n}, padding=[1, 1, 1, 1]));"]
        lines += [f"  %{2 * n + 1} = nn.batch_norm(%{2 * n}, %g{n}, %b{n}, %m{n}, %v{n});"]
    text = NETWORK.replace("PARAMS", ", ".join(params)).replace("LAYERS", "\n".join(lines))
    return module_of(text.replace("%LAST", f"%{2 * layers - 1}.0"))


def test_deep_networks_stay_in_range() -> None:
    """Sixty convolutions of 144 products each; with weights in [-1, 1) every one made values seven times larger."""
    module = deep_network(60)
    result = irtool.evaluate(module, random_inputs(module["main"], 0, module))
    assert 1e-3 < np.abs(result).max() < 1e3


@pytest.mark.parametrize(
    "passes", ["SimplifyInference", "SimplifyInference,FuseOps", "CanonicalizeOps", "ToANormalForm", "ToMixedPrecision"]
)
def test_passes_change_no_kinds(passes: str) -> None:
    """So that a text can be compared with what passes made of it, by running both."""
    module = deep_network(2)
    after = irtool.run_passes(module, passes)
    want, got = (Uses(m["main"], m) for m in (module, after))
    for p, q in zip(module["main"].params, after["main"].params, strict=True):
        assert got.of(q) == want.of(p), p.name


def test_values_follow_from_seed_and_place() -> None:
    text = "def @main(%A: Tensor[(2, 9), float32], %B: Tensor[(9, 9), float32]) { nn.dense(%A, %B, units=9) }"
    one, other = (module_of(text.replace("A", a).replace("B", b)) for a, b in (("x", "w"), ("w", "x")))
    a, b = (random_inputs(m["main"], 3, m) for m in (one, other))
    assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert not np.array_equal(a[1], random_inputs(one["main"], 4, one)[1])
    assert np.abs(a[1]).max() <= np.sqrt(3 / 9) < 1


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "float32"])
def test_indices_are_in_range_of_any_dtype(dtype: str) -> None:
    rng = np.random.RandomState(0)
    values = Below(1000).draw(rng, (10000,), dtype)
    assert values.min() >= 0 and values.max() < 1000
    assert (values.astype(dtype) == values).all()


def test_sparse_matrices_are_whole() -> None:
    module = module_of(
        "def @main(%x: Tensor[(2, 12), float32], %d: Tensor[(20), float32], %i: Tensor[(20), int32], %p: Tensor[(9), int32]) "
        "{ nn.sparse_dense(%x, %d, %i, %p) }"
    )
    _, data, indices, starts = random_inputs(module["main"], 0, module)
    assert starts[0] == 0 and starts[-1] == 20 and (np.diff(starts) >= 0).all()
    assert indices.min() >= 0 and indices.max() < 12
    assert np.abs(data).max() <= np.sqrt(3 / 2.5)
