"""Types that are shared, as those of tuples which hold one value twice, are walked once; what would list them refuses."""

from __future__ import annotations

import pytest

import irtool
from benchmarks.shapes import let_values, shared_tuples
from irtool.diagnostics import IrError
from irtool.ir.types import TupleType, distinct_leaves, leaf_count, scalar, tuple_leaves


def doubled(depth):
    t = scalar("float32")
    for _ in range(depth):
        t = TupleType((t, t))
    return t


def test_leaves_are_counted_without_listing_them():
    assert leaf_count(doubled(10)) == 1024 == len(list(tuple_leaves(doubled(10))))
    assert leaf_count(doubled(200)) == 1 << 64
    assert len(list(distinct_leaves(doubled(200)))) == 2


@pytest.mark.promise("growth")
def test_too_many_leaves_are_refused():
    with pytest.raises(IrError, match="cannot be taken apart"):
        list(tuple_leaves(doubled(30)))
    module = irtool.infer_types(irtool.parse(shared_tuples(40)))
    with pytest.raises(IrError, match="cannot be taken apart"):
        irtool.build(module, emit="c")


@pytest.mark.promise("growth")
@pytest.mark.parametrize(
    "name", ["AlterOpLayout", "Defunctionalization", "FuseOps", "LabelOps", "ToANormalForm", "ToMixedPrecision"]
)
def test_passes_over_shared_tuples_end(name):
    module = irtool.infer_types(irtool.parse(shared_tuples(200)))
    irtool.run_passes(module, name)


def test_continuations_of_nested_values_do_not_nest_on_the_stack():
    module = irtool.infer_types(irtool.parse(let_values(3000)))
    assert irtool.run_passes(module, "ToCPS") is not module
