"""Operators with a tensor expression, and the tensors of their results."""

from __future__ import annotations

import numpy as np

from irtool.ir import TupleType
from irtool.ops import operators
from irtool.ops.base import Operator
from tests.ops.drawing import NAMES

COMPUTED = [n for n in NAMES if operators.get(n).compute is not Operator.compute]


def is_static(type):
    return all(map(is_static, type.fields)) if isinstance(type, TupleType) else type.is_static


def leaves(value):
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, tuple) else [np.asarray(value)]
