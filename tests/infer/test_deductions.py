"""What operators conclude from partly known shapes and dtypes holds: on every call of the corpus and of random programs."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import irtool
from irtool.ir import ANY, Call, Op, TensorType, TupleType, Type, post_order
from tests.generators import random_module
from tests.networks import random_network

CORPUS = Path(__file__).parent.parent.parent.parent / "shared" / "corpus"

pytestmark = pytest.mark.promise("partial inference")


def shape_of(t: Type) -> Any:
    if isinstance(t, TupleType):
        return [shape_of(f) for f in t.fields]
    return tuple(None if d is ANY else d for d in t.shape) if isinstance(t, TensorType) else None


def dtype_of(t: Type) -> Any:
    if isinstance(t, TupleType):
        return [dtype_of(f) for f in t.fields]
    return (t.dtype or None) if isinstance(t, TensorType) else None


def erased(known: Any, rng: random.Random) -> Any:
    """The same with some of it unknown."""
    if isinstance(known, list):
        return [erased(k, rng) for k in known]
    if known is None or rng.random() < 0.3:
        return None
    if isinstance(known, tuple):
        return tuple(None if rng.random() < 0.3 else d for d in known)
    return known


def agrees(concluded: Any, truth: Any) -> bool:
    if concluded is None or truth is None:
        return True  # of a tensor with `?` nothing is checked there
    if isinstance(truth, list):
        return isinstance(concluded, list) and len(concluded) == len(truth) and all(map(agrees, concluded, truth))
    if isinstance(truth, tuple):
        return len(concluded) == len(truth) and all(
            a is None or b is None or not (isinstance(a, int) and isinstance(b, int)) or int(a) == int(b)
            for a, b in zip(concluded, truth, strict=True)
        )
    return concluded == truth


def check_call(e: Call, rng: random.Random) -> int:
    """Checks the conclusions on a few erasures of a call; how many things became known."""
    types = [a.checked_type for a in e.args]
    changes = 0
    for kind, truth in (("shapes", shape_of), ("dtypes", dtype_of)):
        args, out = [truth(t) for t in types], truth(e.checked_type)
        for blank in range(5):
            known = ([erased(a, rng) for a in args], erased(out, rng)) if blank else (args, out)
            concluded = getattr(e.attrs, f"deduce_{kind}")(*known)
            what = f"{e.op.name} {e.attrs}: {kind} {known} gave {concluded}, right is {(args, out)}"
            assert len(concluded[0]) == len(args), what
            assert all(map(agrees, concluded[0], args)), what
            assert agrees(concluded[1], out), what
            changes += concluded != known
    return changes


def calls(module: irtool.Module) -> Iterator[Call]:
    for f in module.relay_functions.values():
        for e in post_order(f):
            if isinstance(e, Call) and isinstance(e.op, Op) and e.checked_type is not None:
                if all(a.checked_type is not None for a in e.args):
                    yield e


def test_random_programs() -> None:
    rng = random.Random(1)
    changes = 0
    for seed in range(150):
        for e in calls(irtool.infer_types(random_module(seed))):
            changes += check_call(e, rng)
    for seed in range(40):
        for e in calls(irtool.infer_types(random_network(seed))):
            changes += check_call(e, rng)
    assert changes > 1000


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus beside the checkout")
@pytest.mark.parametrize("part", ["run", "parse", "passes/FuseOps", "passes/ToMixedPrecision"])
def test_corpus(part: str) -> None:
    rng = random.Random(2)
    seen: set[str] = set()
    with gzip.open(CORPUS / f"{part}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in itertools.islice(lines, 2500):
            case = json.loads(line)
            try:
                module = irtool.infer_types(irtool.parse(case.get("source") or case["before"]))
            except irtool.IrError:
                continue
            for e in calls(module):
                if check_call(e, rng):
                    seen.add(e.op.name)
    assert len(seen) > 30
