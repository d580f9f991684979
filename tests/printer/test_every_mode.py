"""irtool reads back everything that it prints, in whatever mode."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.infer import infer_known_types, infer_partial, infer_types
from irtool.ir import Function, Module, Var, rewrite
from irtool.ir.structural import structural_equal
from irtool.parser import parse
from irtool.passes import run_passes
from irtool.passes.instruments.printing import Printing
from irtool.printer import to_text
from tests.generators import modules

pytestmark = pytest.mark.promise("pasted text")

SHARED = Path(__file__).parents[3] / "shared"

OPTIONS = [
    {"types": types, "metadata": metadata, "spans": spans, "constants": constants, "portable_names": portable}
    for types, metadata, spans, constants, portable in itertools.product(
        ("all", "calls", "none"), (True, False), (False, True), ("inline", "elide"), (False, True)
    )
]
MODES = st.sampled_from(OPTIONS)


def code_of(text: str) -> str:
    """A text without its metadata section, which has the types of constants."""
    return text.partition("#[metadata]")[0]


def assert_reads_back(module: Module, options: dict) -> None:
    """The text is read without an error, and prints as the same text again.

    What was read is the same module where nothing was left out.
    """
    text = to_text(module, **options)
    again = parse(text, "printed")
    whole = options.get("metadata", True) and options.get("constants", "inline") == "inline"
    if whole and all(isinstance(f, Function) for f in module.functions.values()):  # loop nests are read as text
        assert structural_equal(again, module)
    quiet = {**options, "types": "none", "spans": False}
    assert code_of(to_text(again, **quiet)) == code_of(to_text(module, **quiet))
    if not options["spans"] and "/* ty" not in text:
        assert code_of(to_text(again, **options)) == code_of(text)


def without_annotations(module: Module, keep: int) -> Module:
    """The module with every annotation gone but those of the first `keep` functions."""

    def strip(old, new):
        if not isinstance(new, Function):
            return new
        renamed = {p: Var(p.name) for p in new.params}
        body = rewrite(new.body, lambda o, n: renamed.get(n, n))
        return Function(tuple(renamed.values()), body, None, new.type_params, new.attrs)

    functions = {n: f if i < keep else strip(f, f) for i, (n, f) in enumerate(module.functions.items())}
    return module.with_functions(functions)


@given(modules(), MODES)
@settings(max_examples=60, deadline=None)
def test_as_built(module, options):
    assert_reads_back(module, options)


@given(modules(size=12), MODES)
@settings(max_examples=40, deadline=None)
def test_typed(module, options):
    assert_reads_back(infer_types(module), options)


@given(modules(size=12), MODES, st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_with_types_that_stay_open(module, options, keep):
    untyped = without_annotations(module, keep)
    known, _ = infer_known_types(untyped)
    for m in (untyped, known, infer_partial(untyped).module):
        assert_reads_back(m, options)
        for text in (to_text(m, **options), to_text(m, types="all")):
            assert "/* */" not in text and "ty=_ " not in text


@given(
    modules(size=12),
    MODES,
    st.sampled_from(["FuseOps,LabelOps", "FuseOps,LabelOps,LowerTE", "ToANormalForm", "PlanDevices"]),
)
@settings(max_examples=40, deadline=None)
def test_after_passes(module, options, passes):
    try:
        rewritten = run_passes(module, passes)
    except Exception as error:
        if "LowerTE" in passes:
            return
        raise error
    assert_reads_back(rewritten, options)


def test_what_is_printed_between_passes():
    output: list[str] = []
    module = parse(
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32], %w) {\n  %0 = nn.dense(%x, %w, units=4);\n'
        "  nn.softmax(nn.relu(%0))\n}\n"
    )
    module = infer_known_types(module)[0]
    module = parse(to_text(module).replace("%w)", "%w: Tensor[(4, 3), float32])"))
    run_passes(module, "FuseOps,LabelOps,LowerTE", instruments=[Printing(("all",), ("all",), write=output.append)])
    texts = [t for t in "".join(output).split('#[version = "0.0.5"]') if "def @" in t]
    assert len(texts) >= 6
    for text in texts:
        code = text.rpartition("\n; ")[0] or text
        parse(f'#[version = "0.0.5"]{code}')


@pytest.mark.skipif(not (SHARED / "corpus").is_dir(), reason="no corpus beside the checkout")
@pytest.mark.parametrize("part", ["parse", "infer", "passes/FuseOps", "passes/PartitionGraph", "passes/ToANormalForm"])
def test_texts_of_the_corpus(part):
    with gzip.open(SHARED / f"corpus/{part}.jsonl.gz", "rt") as lines:
        cases = [json.loads(line) for line in lines]
    read = 0
    for i, case in enumerate(cases):
        text = case.get("after") or case.get("inferred") or case.get("printed")
        if not text or case.get("kind") == "expr":
            continue
        module = parse(text)
        for options in (OPTIONS[i % len(OPTIONS)], OPTIONS[(7 * i + 5) % len(OPTIONS)]):
            assert_reads_back(module, options)
        read += 1
    assert read
