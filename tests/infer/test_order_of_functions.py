"""Whether functions are accepted, and the types that they get, do not hang on the order in which they are written."""

import random
from itertools import permutations

import pytest

import irtool
from irtool.ir import Module
from tests.fuzz.modules import fuzz_module
from tests.fuzz.programs import program_text

NARROW = "def @{0}(%x: Tensor[(?, 2), float32]) -> Tensor[({1}, 2), float32] {{ {2} }}"
PROGRAMS = {
    "a declared dimension that the body leaves open": [
        NARROW.format("wide", "n", "%x"),
        "def @caller(%x: Tensor[(?, 2), float32]) { (@wide(%x),) }",
    ],
    "callers of callers": [
        NARROW.format("wide", "n", "%x"),
        "def @middle(%x: Tensor[(?, 2), float32]) { @wide(%x) }",
        NARROW.format("top", "?", "@middle(%x)"),
        "def @caller(%x: Tensor[(?, 2), float32]) { add(@top(%x), @middle(%x)) }",
    ],
    "recursion": [
        NARROW.format("wide", "n", "if (True) { @wide(%x) } else { %x }"),
        "def @caller(%x: Tensor[(?, 2), float32]) { (@wide(%x), %x) }",
    ],
    "another name for the dimension": [
        NARROW.format("wide", "n", "%x"),
        NARROW.format("caller", "m", "@wide(%x)"),
    ],
    "another name, in a ring": [
        NARROW.format("f", "n", "if (True) { @g(%x) } else { @h(%x) }"),
        NARROW.format("g", "m", "if (True) { @h(%x) } else { %x }"),
        NARROW.format("h", "k", "@f(%x)"),
    ],
    "a ring through a function without annotations": [
        NARROW.format("f", "n", "@open(%x)"),
        "def @open(%x: Tensor[(?, 2), float32]) { if (True) { @g(%x) } else { @f(%x) } }",
        NARROW.format("g", "m", "if (True) { @f(%x) } else { %x }"),
    ],
}
REFUSED = {
    "two names, nothing is wider": [
        "def @f(%x: Tensor[(n, 2), float32]) -> Tensor[(n, 2), float32] { %x }",
        "def @g(%x: Tensor[(n, 2), float32]) -> Tensor[(m, 2), float32] { @f(%x) }",
    ],
    "two names in a ring": [
        NARROW.format("f", "n", "@g(%x)"),
        NARROW.format("g", "m", "@f(%x)"),
    ],
    "a number that the wider type does not have": [
        NARROW.format("wide", "3", "%x").replace("(?, 2), float32]) ->", "(4, 2), float32]) ->"),
        NARROW.format("caller", "m", "@wide(%x)"),
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_order_gives_the_same_types(name: str) -> None:
    types = set()
    for order in permutations(PROGRAMS[name]):
        module = irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + "\n".join(order)))
        types.add(tuple((n, str(f.checked_type)) for n, f in sorted(module.relay_functions.items())))
        text = irtool.to_text(module)
        assert irtool.to_text(irtool.infer_types(irtool.parse(text))) == text
    assert len(types) == 1, types


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_so_in_any_order(name: str) -> None:
    for order in permutations(REFUSED[name]):
        with pytest.raises(irtool.IrError):
            irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + "\n".join(order)))


def _verdict(text: str) -> object:
    """The types of the functions by name, or None if they are refused."""
    try:
        module = irtool.infer_types(irtool.parse(text))
    except irtool.IrError as error:
        assert error.exit_code == 1
        return None
    return sorted((n, str(f.checked_type)) for n, f in module.relay_functions.items())


def _reordered(functions: list[str], rng: random.Random) -> list[list[str]]:
    if len(functions) < 5:
        return [list(order) for order in permutations(functions)]
    return [functions, functions[::-1], *(rng.sample(functions, len(functions)) for _ in range(6))]


def _of_dimensions(rng: random.Random) -> list[str]:
    """Functions that call each other at random, with dimensions that are declared, open, left out, or numbers."""

    def tensor(dims: str) -> str:
        return f"Tensor[({rng.choice(dims)}, {rng.choice('22?k')}), float32]"

    names = [f"@f{i}" for i in range(rng.randint(2, 5))]
    functions = []
    for name in names:
        x = f"%x: {tensor('???n3')}"
        kinds = ["%x", "{0}(%x)", "{0}({1}(%x))", "if (True) {{ {0}(%x) }} else {{ {1}(%x) }}", "tanh({0}(%x))"]
        body = rng.choice(kinds).format(rng.choice(names), rng.choice([*names, "tanh"]))
        result = f" -> {tensor('nmk?3')}" if rng.random() < 0.8 else ""
        functions.append(f"def {name}({x}){result} {{ {body} }}")
    return functions


def test_random_functions_are_judged_alike_in_any_order() -> None:
    accepted = 0
    for seed in range(300):
        rng = random.Random(seed)
        functions = _of_dimensions(rng)
        verdicts = {}
        for order in _reordered(functions, rng):
            text = '#[version = "0.0.5"]\n' + "\n".join(order)
            verdicts.setdefault(str(_verdict(text)), text)
        assert len(verdicts) == 1, f"seed {seed}:\n" + "\n".join(f"{v}\n{t}" for v, t in verdicts.items())
        accepted += "None" not in verdicts
    assert 60 < accepted < 240


def _functions_of(text: str) -> tuple[str, list[str]]:
    """What stands before the functions of a text, and each of these."""
    head, *functions = text.split("\ndef ")
    return head, ["def " + f for f in functions]


@pytest.mark.parametrize("draw", [fuzz_module, program_text], ids=["modules", "programs"])
def test_random_modules_are_judged_alike_in_any_order(draw) -> None:
    several = 0
    for seed in range(80):
        drawn = draw(seed)
        text = irtool.to_text(drawn) if isinstance(drawn, Module) else drawn
        if "#[metadata]" in text:
            continue
        head, functions = _functions_of(text)
        if len(functions) < 2:
            continue
        several += 1
        orders = _reordered(functions, random.Random(seed))[:5]
        verdicts = [_verdict("\n".join([head, *order])) for order in orders]
        assert all(v == verdicts[0] for v in verdicts), f"seed {seed}"
    assert several > 8
