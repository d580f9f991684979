"""The types that functions get do not hang on the order in which they are written."""

from itertools import permutations

import pytest

import irtool

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
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_order_gives_the_same_types(name: str) -> None:
    found = set()
    for order in permutations(PROGRAMS[name]):
        module = irtool.infer_types(irtool.parse('#[version = "0.0.5"]\n' + "\n".join(order)))
        found.add(tuple((n, str(f.checked_type)) for n, f in sorted(module.relay_functions.items())))
        text = irtool.to_text(module)
        assert irtool.to_text(irtool.infer_types(irtool.parse(text))) == text
    assert len(found) == 1, found
