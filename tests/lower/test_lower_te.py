"""LowerTE: what the loop nests compute, what the module says, and that its text reads back."""

from pathlib import Path

import numpy as np
import pytest

import irtool
from irtool.ir import Call, Function, FuncType, post_order
from irtool.ir.structural import structural_equal
from irtool.lower.plain import lower_plainly
from irtool.tir.kernel import Kernel
from irtool.tir.stmt import PrimFunc
from tests.lower.kernels import KERNELS

VERSION = '#[version = "0.0.5"]\n'
FUSED = sorted((Path(__file__).parents[3] / "shared/formats/lowered").glob("*.fused.relay"))
SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.relay"))


def lowered(text: str, passes: str = "FuseOps,LowerTE") -> irtool.Module:
    return irtool.run_passes(irtool.parse(VERSION + text), passes)


def nests(m: irtool.Module) -> dict[str, PrimFunc]:
    return {n: f for n, f in m.functions.items() if isinstance(f, PrimFunc)}


@pytest.mark.parametrize("name", KERNELS)
def test_plain_nests_compute_what_the_interpreter_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same program with plain nests for kernels, compiled."""
    m = irtool.parse(VERSION + KERNELS[name])
    chance = np.random.default_rng(0)
    inputs = [
        (chance.uniform(-3, 3, [int(d) for d in p.checked_type.shape]) * 4).astype(p.checked_type.dtype)
        for p in m["main"].params
    ]
    monkeypatch.setattr(
        "irtool.lower.kernels.lower_function", lambda g, name, target: Kernel.of(lower_plainly(g, name))
    )
    actual = irtool.build(m, opt_level=1, vector=False).run(inputs)
    expected = irtool.evaluate(m, inputs)
    for g, w in zip(_flat(actual), _flat(expected), strict=True):
        tolerance = 2e-2 if str(w.dtype) == "float16" else 1e-5
        np.testing.assert_allclose(g.astype("float64"), w.astype("float64"), rtol=tolerance, atol=tolerance)


def _flat(value):
    return [x for v in value for x in _flat(v)] if isinstance(value, tuple) else [np.asarray(value)]


@pytest.mark.parametrize("name", KERNELS)
def test_the_text_reads_back(name: str) -> None:
    m = lowered(KERNELS[name])
    text = irtool.to_text(m)
    again = irtool.parse(text)
    assert irtool.to_text(again) == text
    assert structural_equal(irtool.parse(irtool.to_text(again)), again)
    for n in nests(m):
        assert again[n].checked_type == m[n].checked_type


def test_equal_kernels_share_a_nest_and_others_get_a_number() -> None:
    m = lowered(
        """def @main(%x: Tensor[(4), float32], %y: Tensor[(5), float32]) {
             let %a = exp(%x);
             let %b = exp(%a);
             let %c = exp(%y);
             (%b, %c)
           }"""
    )
    assert sorted(nests(m)) == ["tvmgen_default_fused_exp", "tvmgen_default_fused_exp_1"]


def test_names_of_functions_are_not_taken() -> None:
    m = lowered("def @tvmgen_default_fused_exp(%x: int32) { %x } def @main(%x: Tensor[(4), float32]) { exp(%x) }")
    assert list(nests(m)) == ["tvmgen_default_fused_exp_1"]


def test_kernels_that_a_let_binds() -> None:
    m = lowered(
        """def @main(%x: Tensor[(4), float32]) {
             let %f = fn (%p: Tensor[(4), float32], Primitive=1) { exp(%p) };
             let %y = %f(%x);
             %f(%y)
           }""",
        "LowerTE",
    )
    calls = [e for e in post_order(m["main"].body) if isinstance(e, Call)]
    assert len(calls) == 2 and all(c.op.name == "call_lowered" for c in calls)
    assert not any(isinstance(e, Function) for e in post_order(m["main"].body))


def test_kernels_of_the_module() -> None:
    m = lowered(
        """def @k(%p: Tensor[(4), float32], Primitive=1) -> Tensor[(4), float32] { exp(%p) }
           def @main(%x: Tensor[(4), float32]) { @k(%x) }""",
        "LowerTE",
    )
    assert m["main"].body.args[0].name == "tvmgen_default_fused_exp" and isinstance(m["k"], Function)


def test_the_type_of_a_nest() -> None:
    m = lowered(
        """def @main(%x: Tensor[(4, 6), float32]) {
             %0 = fn (%p: Tensor[(4, 6), float32], Primitive=1) { split(%p, indices_or_sections=2, axis=1) };
             %0(%x)
           }""",
        "LowerTE",
    )
    (nest,) = nests(m).values()
    assert isinstance(nest.checked_type, FuncType) and len(nest.checked_type.ret_type.fields) == 2
    assert [b.shape for b in nest.preflattened] == [(4, 6), (4, 3), (4, 3)]
    assert [b.shape for b in nest.params] == [(24,), (12,), (12,)]


def test_nothing_to_lower_is_the_same_module() -> None:
    m = irtool.parse(VERSION + "def @main(%x: Tensor[(4), float32]) { %x }")
    assert irtool.run_passes(m, "LowerTE") is m


def test_everything_that_has_no_nest_is_reported() -> None:
    text = """def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(?, 3), float32]) { (exp(%x), tanh(%y)) }"""
    with pytest.raises(irtool.IrError) as error:
        lowered(text)
    assert len(error.value.diagnostics) == 2 and "%x" in error.value.diagnostics[0].message


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.stem)
def test_samples_lower_and_read_back(path: Path) -> None:
    m = irtool.run_passes(irtool.parse(path.read_text()), "default<O3>,LowerTE")
    assert nests(m)
    text = irtool.to_text(m)
    assert irtool.to_text(irtool.parse(text)) == text


@pytest.mark.skipif(not FUSED, reason="TVM's samples are not here")
@pytest.mark.parametrize("path", FUSED, ids=lambda p: p.name)
def test_heads_are_the_peers(path: Path) -> None:
    """All but the bodies of the nests."""
    listing = path.with_name(path.name.replace("fused.relay", "lowered.txt")).read_text()
    m = irtool.run_passes(irtool.parse(path.read_text()), "PlanDevices,LowerTE{module_name=default}", target="llvm")
    got = irtool.to_text(m, metadata=False)
    for mine, peer in zip(_heads(got), _heads(listing), strict=True):
        assert mine == peer


def _heads(text: str) -> list[str]:
    import re

    text = text.split("\n/* ")[0]
    lines = []
    for line in text.splitlines():
        if re.match(
            r"@|  (attr|buffers|buffer_map) =|             \w+: Buffer|def |  %\d+ =|    %\d+ =| +call_lowered", line
        ):
            lines.append(line)
        elif line.startswith("  preflattened_buffer_map"):
            lines += sorted(re.findall(r"\w+: \w+: Buffer\([^)]*\)", line))
    return lines
