"""For every operator of the elementwise, reducing, creating, sorting and random families: the inferred type is the type
of what the reference returns, on drawn shapes, dtypes and attributes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irtool.infer import infer_expr
from irtool.ir import ANY, TupleType
from irtool.ops import call, operators
from tests.ops.drawing import NAMES, argument, drawn


def fits(type, value):
    """True if the value is of the type; `?` fits every extent."""
    if isinstance(type, TupleType):
        return isinstance(value, tuple) and len(value) == len(type.fields) and all(map(fits, type.fields, value))
    same = all(d is ANY or d == e for d, e in zip(type.shape, value.shape, strict=False))
    return (
        isinstance(value, np.ndarray | np.generic)
        and same
        and value.dtype == type.dtype
        and value.ndim == len(type.shape)
    )


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_reference_returns_the_inferred_type(name, data):
    inputs, attributes = drawn(data.draw, name)
    cls = operators.get(name)
    inferred = infer_expr(call(name, *map(argument, inputs), **attributes)).checked_type
    with np.errstate(all="ignore"):
        value = cls.make(attributes).evaluate(*inputs)
    if name == "memory.kill":
        assert value == () and inferred == TupleType(())
        return
    assert fits(inferred, value), f"{inferred} does not fit {value!r}"
