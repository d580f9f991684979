"""Reduction: what is planted stays, everything else goes, and the result is well typed and the same in every run."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import irtool
from irtool.ir import Call, Expr, Function, If, Let, Match, Op
from irtool.reduction import Case, reduce_case
from irtool.reduction.case import nodes_of
from irtool.reduction.predicates.difference import Differs
from irtool.reduction.predicates.text import Says

HEAD = '#[version = "0.0.5"]\n'
SAMPLES = sorted((Path(__file__).parent.parent.parent / "samples").glob("*.relay"))


def typed(text: str) -> irtool.Module:
    return irtool.infer_types(irtool.parse(HEAD + text))


def calls(e: Expr, name: str) -> bool:
    return isinstance(e, Call) and isinstance(e.op, Op) and e.op.name == name


def has_call(name: str) -> Callable[[Case], bool]:
    return lambda case: any(calls(e, name) for _, e in nodes_of(case.module))


def reduced(text: str, is_interesting: Callable[[Case], bool], *passes: str) -> Case:
    """The reduced case, after the checks that every reduction must stand."""
    case = Case(typed(text), passes)
    assert is_interesting(case)
    best = reduce_case(case, is_interesting)
    printed = irtool.to_text(best.module)
    again = irtool.infer_types(irtool.parse(printed))
    assert is_interesting(Case(again, best.passes))
    assert irtool.structural_equal(again, best.module)
    assert irtool.to_text(reduce_case(case, is_interesting).module) == printed
    return best


def body(case: Case) -> str:
    return irtool.to_text(case.module, types="none", metadata=False).split("{\n", 1)[1].rsplit("}", 1)[0].strip()


def planted(operators: int, seed: int) -> str:
    """A graph of that many operators in which `tanh(add(exp, …))` occurs once."""
    rng = random.Random(seed)
    planted_index = rng.randrange(5, operators - 8)
    lines = []
    for n in range(operators):
        last, other = f"%{n - 1}" if n else "%x", f"%{rng.randrange(max(0, n - 9), n)}" if n else "%y"
        drawn = rng.choice(("nn.relu({0})", "add({0}, {1})", "multiply({1}, {0})", "sigmoid({0})", "subtract({0}, 2f)"))
        kinds = {planted_index: "exp({0})", planted_index + 3: "add({0}, {2})", planted_index + 5: "tanh({2})"}
        lines.append(
            f"  %{n} = "
            + kinds.get(n, drawn).format(
                last, other, f"%{planted_index}" if n == planted_index + 3 else f"%{planted_index + 3}"
            )
            + ";"
        )
    tensor = "Tensor[(4, 16), float32]"
    return f"def @main(%x: {tensor}, %y: {tensor}) {{\n" + "\n".join(lines) + f"\n  nn.relu(%{operators - 1})\n}}\n"


def is_planted(case: Case) -> bool:
    for _, e in nodes_of(case.module):
        if calls(e, "tanh") and calls(e.args[0], "add") and any(calls(a, "exp") for a in e.args[0].args):  # type: ignore[attr-defined]  # calls are calls
            return True
    return False


@pytest.mark.parametrize("seed", [1, 2])
def test_of_500_operators_those_that_matter_remain(seed: int) -> None:
    case = Case(typed(planted(500, seed)))
    start = time.perf_counter()
    best = reduce_case(case, is_planted)
    assert time.perf_counter() - start < 60
    assert best.operators == 3 and is_planted(best)
    f = best.module["main"]
    assert len(f.params) == 1 and f.params[0].checked_type.shape == (1, 1)


def test_programs_in_a_normal_form_shrink_as_graphs_do() -> None:
    module = irtool.run_passes(typed(planted(60, 3)), "ToANormalForm")

    def is_there(case: Case) -> bool:
        lets = [e for _, e in nodes_of(case.module) if isinstance(e, Let)]
        return any(calls(e.value, "tanh") for e in lets) and any(calls(e.value, "exp") for e in lets)

    assert is_there(Case(module))
    best = reduce_case(Case(module), is_there)
    assert best.operators == 2 and sum(isinstance(e, Let) for _, e in nodes_of(best.module)) == 2


EDITS = {
    "functions": ("def @f(%x: float32) { exp(%x) } def @g(%x: float32) { @f(%x) } def @main(%x: float32) { log(@g(%x)) }", "exp", "exp(%x)"),
    "then": ("def @main(%c: bool, %x: float32) { if (%c) { exp(%x) } else { log(%x) } }", "exp", "exp(%x)"),
    "else": ("def @main(%c: bool, %x: float32) { if (%c) { exp(%x) } else { log(%x) } }", "log", "log(%x)"),
    "lets": ("def @main(%x: float32) { let %a = exp(%x); let %b = log(%a); tanh(%b) }", "log", "log(%a)"),
    "outputs": ("def @main(%x: float32) { (exp(%x), log(%x), 1f) }", "log", "log(%x)"),
    "fields": ("def @main(%x: Tensor[(2, 3), float32]) { concatenate((exp(%x), %x, log(%x)), axis=1) }", "concatenate", "%0 = (%p,);\n  concatenate(%0)"),
    "constants": ("def @main(%x: Tensor[(2), float32]) { add(%x, 7f) }", "add", "add(%x, 0f)"),
    "dtypes": ("def @main(%x: Tensor[(2), float16]) { nn.relu(%x) }", "nn.relu", "nn.relu(%x)"),
    "attributes": ("def @main(%x: Tensor[(2, 4), float32]) { nn.softmax(%x, axis=0) }", "nn.softmax", "nn.softmax(%x)"),
    "extents": (
        "def @main(%x: Tensor[(2, 8, 14, 14), float32], %w: Tensor[(16, 8, 3, 3), float32], %d: Tensor[(10, 3136), float32]) "
        "{ nn.dense(nn.batch_flatten(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3])), %d, units=10) }",
        "nn.dense",
        "nn.dense(%d, %d, units=1)",
    ),
    "literals": ("def @main(%x: float32) { let %f = fn (%a: float32, %b: float32) { exp(%b) }; %f(%x, log(%x)) }", "exp", "exp(%b)"),
    "clauses": (
        "type D { A, B(float32) } def @main(%d: D) { match (%d) { A => 1f, B(%v) => exp(%v) } }",
        "exp",
        "exp(%v)",
    ),
    "references": ("def @main(%x: float32) { let %r = ref(%x); let %u = ref_write(%r, exp(%x)); ref_read(%r) }", "exp", "exp(%x)"),
}  # fmt: skip


@pytest.mark.parametrize("kind", EDITS)
def test_each_kind_of_edit(kind: str) -> None:
    text, name, expected = EDITS[kind]
    best = reduced(text, has_call(name))
    assert body(best) == expected
    assert list(best.module.functions) in (["main"], ["f"]) and not best.module.type_definitions
    for p in best.module.functions[next(iter(best.module.functions))].params:
        assert p.checked_type.dtype == "float32" and set(p.checked_type.shape) <= {1}


def test_what_is_inside_functions_with_callers_becomes_zeros() -> None:
    text = "def @f(%x: float32) -> float32 { if (less(%x, 1f)) { %x } else { @f(subtract(exp(log(%x)), 1f)) } } def @main(%x: float32) { @f(%x) }"

    def is_recursive(case: Case) -> bool:
        recursive = [f for n, f in case.module.relay_functions.items() if f"@{n}(" in str(f)]
        return bool(recursive) and any(isinstance(e, If) for _, e in nodes_of(case.module))

    best = reduced(text, is_recursive)
    assert best.operators == 1 and list(best.module.functions) == ["f"]


def test_marks_that_matter_stay() -> None:
    def is_marked(case: Case) -> bool:
        return any(isinstance(e, Function) and e.attrs.get("Primitive") for _, e in nodes_of(case.module))

    text = 'def @main(%x: float32) { %0 = fn (%y: float32, Primitive=1, hash="ab") { log(exp(%y)) }; tanh(%0(%x)) }'
    best = reduced(text, is_marked)
    assert "Primitive=1" in irtool.to_text(best.module) and "hash" not in irtool.to_text(best.module)


def test_pipelines_become_their_passes_and_lose_those_that_do_not_matter() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(add(exp(%x), 2f)) }"

    def is_fused(case: Case) -> bool:
        return "Primitive=1" in irtool.to_text(case.run()) and "Primitive" not in irtool.to_text(case.module)

    best = reduced(text, is_fused, "default<O3>", "FoldConstant")
    assert best.passes == ("FuseOps",) and best.operators == 1
    best = reduced(text, is_fused, "FuseOps{fuse_opt_level=2}", "FoldConstant")
    assert best.passes == ("FuseOps",)


def test_passes_that_prepare_for_another_run_beforehand() -> None:
    text = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(exp(%x)) }"

    def is_lowered_from_fused(case: Case) -> bool:
        return "call_lowered" in irtool.to_text(case.run()) and "LowerTE" in case.passes

    case = Case(typed(text), ("FuseOps", "LowerTE"), {"target": "c"})
    assert is_lowered_from_fused(case)
    assert reduce_case(case, is_lowered_from_fused).passes == ("LowerTE",)


def test_differences_and_texts() -> None:
    text = "def @main(%x: Tensor[(3, 2), float32]) { log(add(exp(nn.relu(%x)), 1f)) }"
    best = reduced(text, Differs(rtol=1e-9, atol=0), "FastMath")
    assert body(best).startswith("exp(") or body(best).startswith("tanh(")
    import re

    best = reduced(text, Says(re.compile("fast_exp")), "FastMath")
    assert body(best).startswith("exp(")
    assert not Differs()(Case(typed(text), ("FastMath",)))


@pytest.mark.parametrize("sample", SAMPLES, ids=[s.stem for s in SAMPLES])
def test_samples_shrink_to_one_construct(sample: Path) -> None:
    """Of every program, to its last construct of the rarest kind there is."""
    module = irtool.infer_types(irtool.parse(sample.read_text()))
    kinds: dict[object, int] = {}
    for _, e in nodes_of(module):
        key = (
            e.op.name
            if isinstance(e, Call) and isinstance(e.op, Op)
            else type(e)
            if isinstance(e, If | Match)
            else None
        )
        if key is not None:
            kinds[key] = kinds.get(key, 0) + 1
    if not kinds:
        pytest.skip("it has no calls")
    kind = min(kinds, key=lambda k: (kinds[k], str(k)))

    def is_there(case: Case) -> bool:
        return any(
            calls(e, kind) if isinstance(kind, str) else isinstance(e, kind)
            for _, e in nodes_of(case.module)  # type: ignore[arg-type]  # kinds are names or classes
        )

    best = reduce_case(Case(module), is_there)
    assert is_there(best)
    assert best.operators <= 2, irtool.to_text(best.module)
    irtool.infer_types(irtool.parse(irtool.to_text(best.module)))


def test_depth_takes_no_stack() -> None:
    lines = "".join(f"  %{n + 1} = exp(%{n});\n" for n in range(5_000))
    module = typed(f"def @main(%x: float32) {{\n  %0 = log(%x);\n{lines}  %5000\n}}\n")
    best = reduce_case(Case(module), has_call("log"))
    assert best.operators == 1
