"""Random numbers of a shape that is known only while the program runs, for which Relay's generators have no form.

Number i is a hash of i and of words that are drawn while importing: element i of two runs is the same for any extents.
"""

from __future__ import annotations

import math

from ....deferred import np
from ..arithmetic import add, cast, multiply, scalar, subtract
from ..value import Value


def positions(like: Value) -> Value:
    """1, 2, 3 …, one for each element of a tensor in row-major order, as uint32 in the tensor's shape."""
    ones = like.call("ones_like").call("cast", dtype="int32").call("reshape", newshape=[-1])
    counted = ones.call("cumsum", axis=0, dtype="int32", exclusive=False)
    return cast(counted.call("reshape_like", like, lhs_begin=0, rhs_begin=0), "uint32")


def uniform(positions: Value, key: np.ndarray, dtype: str) -> Value:
    """Numbers from 0 inclusive to 1 exclusive, of 24 bits each."""
    first, second = (scalar(int(w) & 0xFFFFFFFF, "uint32") for w in key)
    mixed = _mixed(add(_mixed(positions.call("bitwise_xor", first)), second))
    return multiply(cast(_shifted(mixed, 8), dtype), scalar(2.0**-24, dtype))


def normal(positions: Value, key: np.ndarray, dtype: str) -> Value:
    """Normally distributed numbers of mean 0 and deviation 1, by the method of Box and Muller, as `random.normal` has them."""
    u, v = uniform(positions, key[:2], dtype), uniform(positions, key[2:], dtype)
    size = multiply(subtract(scalar(1, dtype), u).call("log"), scalar(-2, dtype)).call("sqrt")
    return multiply(size, multiply(v, scalar(2 * math.pi, dtype)).call("sin"))


def _mixed(x: Value) -> Value:
    """A permutation of 32 bits in which each bit depends on all (Wellons, Prospecting for hash functions, 2018: lowbias32)."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = multiply(x.call("bitwise_xor", _shifted(x, shift)), scalar(factor, "uint32"))
    return x.call("bitwise_xor", _shifted(x, 16))


def _shifted(x: Value, bits: int) -> Value:
    return x.call("right_shift", scalar(bits, "uint32"))
