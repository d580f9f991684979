"""Calls of layers, from their cases and drawn, and the types of values."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from irtool.ir import TensorType, TupleType
from tests.ops.cases import calls_of_family

CASES, QUANTIZED = calls_of_family("nn"), calls_of_family("qnn")

ALL = [*CASES, *QUANTIZED]


def type_of(value):
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    return TensorType(value.shape, str(value.dtype))


@st.composite
def convolutions(draw):
    """A convolution of drawn rank, layout and geometry, with its arguments."""
    rank = draw(st.integers(1, 3))
    letters = "DHW"[3 - rank :]
    small = st.integers(1, 3)
    kernel = draw(st.tuples(*[small] * rank))
    strides, dilation = draw(st.tuples(*[small] * rank)), draw(st.tuples(*[st.integers(1, 2)] * rank))
    pads = draw(st.tuples(*[st.integers(0, 2)] * (2 * rank)))
    transposed = draw(st.booleans())
    groups = draw(st.integers(1, 3)) if rank > 1 else 1
    inputs, outputs = groups * draw(small), groups * draw(small)
    spatial = [draw(st.integers(max(1, (k - 1) * d + 1), 7)) for k, d in zip(kernel, dilation, strict=True)]
    data_layout = draw(st.permutations("NC" + letters).map("".join))
    kernel_layout = draw(st.permutations("OI" + letters).map("".join))
    sizes = {"N": draw(small), "C": inputs, **dict(zip(letters, spatial, strict=True))}
    extents = {"O": outputs, "I": inputs // groups, **dict(zip(letters, kernel, strict=True))}
    attributes = {
        "strides": strides,
        "dilation": dilation,
        "padding": pads,
        "groups": groups,
        "channels": outputs,
        "kernel_size": kernel,
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
    }
    name = f"nn.conv{rank}d"
    if transposed:
        pads = [min(p, (k - 1) * d // 2) for p, k, d in zip(pads, kernel * 2, dilation * 2, strict=True)]
        attributes |= {"padding": pads, "output_padding": draw(st.tuples(*[st.integers(0, s - 1) for s in strides]))}
        name += "_transpose"
        # The letters of these kernels: O counts what comes in, but for two axes, where it is the other way round.
        extents |= {"O": inputs, "I": outputs // groups} if rank != 2 else {"I": inputs, "O": outputs // groups}
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    data = rng.standard_normal([sizes[c] for c in data_layout]).astype("float32")
    weight = rng.standard_normal([extents[c] for c in kernel_layout]).astype("float32")
    return name, [data, weight], attributes
