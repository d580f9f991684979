"""The options of a quantization."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..diagnostics import UsageError
from .mistakes import WrongQuantization

METHODS = ("minmax", "percentile", "entropy", "mse")


@dataclass(frozen=True)
class QuantizeOptions:
    """Options of `irtool.quantize`.

    Attributes:
        method: how ranges follow from the values in calibration: `minmax`, `percentile`, `entropy` (Kullback-Leibler), `mse`.
        percentile: of values that a range holds, in percent; of method `percentile`.
        dtype: of activations: `uint8`, which dot-product instructions take as they are, or `int8`.
        keep: regular expressions; layers whose name one of them matches as a whole stay in floating point.
        min_snr: layers whose own signal-to-noise ratio is below so many dB stay in floating point; None: no limit.
        form: `qdq`: floating-point layers between `qnn.dequantize` and `qnn.quantize`, of which builds make
            integers; or `integer`: operators of `qnn`, which round in fixed point as TVM does.
        samples: how many random inputs are made where no data are given.
        seed: of random inputs.
        report: whether the errors of layers are measured. `min_snr` measures them all the same.
        report_samples: on how many samples at most: of given ones, those held out; of random ones, further ones.
        via: the engine of the network: `c`, which is compiled, `interp`, or empty: compiled where a compiler is found.
    """

    method: str = "minmax"
    percentile: float = 99.99
    dtype: str = "uint8"
    keep: tuple[str, ...] = ()
    min_snr: float | None = None
    form: str = "qdq"
    samples: int = 8
    seed: int = 0
    report: bool = True
    report_samples: int = 4
    via: str = ""

    def check(self) -> None:
        """Raises UsageError for an unknown value."""
        for name, value, known in (
            ("method", self.method, METHODS),
            ("dtype", self.dtype, ("uint8", "int8")),
            ("form", self.form, ("qdq", "integer")),
            ("via", self.via, ("", "c", "interp")),
        ):
            if value not in known:
                have = ", ".join(k for k in known if k)
                raise UsageError(f"{name} of a quantization is one of {have}, not {value!r}", code=WrongQuantization)
        if not 0 < self.percentile <= 100:
            raise UsageError(f"a percentile is above 0 and at most 100, not {self.percentile}", code=WrongQuantization)
        if self.samples < 1 or self.report_samples < 1:
            raise UsageError("there must be one sample at least", code=WrongQuantization)
        for pattern in self.keep:
            try:
                re.compile(pattern)
            except re.error as error:
                raise UsageError(f"{pattern!r} is no regular expression: {error}", code=WrongQuantization) from None
