"""Transposed convolutions."""

from __future__ import annotations

from ....diagnostics import IrError
from ..counts import require_count, require_counts
from ..mistakes import DamagedModel
from ..operator import OnnxOperator, Result, onnx_operator, since
from ..sliding import LETTERS, Windows, spatial_extents, spatial_rank
from ..value import Value

KERNELS = {1: "OIW", 2: "IOHW", 3: "OIDHW"}
"""`(C, M / group, …)` as the operators of TVM 0.10 name it."""


@onnx_operator("ConvTranspose")
class ConvTranspose(OnnxOperator):
    """The gradient of a convolution by its data: `(N, C, …)` with weights `(C, M / group, …)`.

    Where `output_shape` or `auto_pad` decides the extents, the pads follow from them; what is missing at the end is zero.
    """

    @since(1, 11, 22)
    def transposed(
        self,
        x: Value,
        w: Value,
        b: Value | None = None,
        *,
        auto_pad: str = "NOTSET",
        dilations: tuple[int, ...] = (),
        group: int = 1,
        kernel_shape: tuple[int, ...] = (),
        output_padding: tuple[int, ...] = (),
        output_shape: tuple[int, ...] = (),
        pads: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Result:
        rank = spatial_rank(x, "a transposed convolution")
        weights_shape = w.extents("the weights of the transposed convolution")
        if len(weights_shape) != rank + 2 or (kernel_shape and tuple(kernel_shape) != weights_shape[2:]):
            raise IrError(f"the weights {w.tensor} do not fit data {x.tensor} and kernel_shape", code=DamagedModel)
        windows = Windows.of(weights_shape[2:], strides, pads, dilations, auto_pad)
        more = tuple(output_padding) or (0,) * rank
        require_counts(more, rank, "output_padding", 0)
        require_count(group, "group")
        if output_shape:
            if len(output_shape) not in (rank, rank + 2):
                raise IrError(f"output_shape is {list(output_shape)} for {rank} spatial axes", code=DamagedModel)
            require_counts(output_shape, len(output_shape), "output_shape", 0)
        padding = windows.pads
        if output_shape or auto_pad.startswith("SAME"):
            padding, more = self._deduced(x, windows, more, tuple(output_shape)[-rank:])
        elif auto_pad == "VALID":
            padding = (0,) * (2 * rank)
        y = x.call(
            f"nn.conv{rank}d_transpose",
            w,
            strides=windows.strides,
            padding=padding,
            output_padding=more,
            dilation=windows.dilations,
            groups=group,
            channels=weights_shape[1] * group,
            kernel_size=weights_shape[2:],
            data_layout=f"NC{LETTERS[rank]}",
            kernel_layout=KERNELS[rank],
        )
        return y if b is None else y.call("nn.bias_add", b, axis=1)

    def _deduced(
        self, x: Value, windows: Windows, more: tuple[int, ...], output_extents: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Pads and output padding that give the wanted extents; with SAME, these are those of the data times the strides."""
        lower, upper, added = [], [], []
        extents = spatial_extents(x, "the data of the transposed convolution")
        output_extents = output_extents or tuple(n * s for n, s in zip(extents, windows.strides, strict=True))
        for size, out, s, reach, extra in zip(
            extents, output_extents, windows.strides, windows.reach, more, strict=True
        ):
            total = s * (size - 1) + extra + reach - out
            added.append(extra + max(-total, 0))
            half = max(total, 0) // 2
            rest = max(total, 0) - half
            first = windows.auto_pad == "SAME_UPPER"
            lower.append(half if first else rest)
            upper.append(rest if first else half)
        return (*lower, *upper), tuple(added)
