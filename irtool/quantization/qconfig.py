"""The options of TVM's `relay.quantize.qconfig`."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..diagnostics import UsageError, nearest
from .mistakes import WrongQuantization


@dataclass(frozen=True, kw_only=True)
class QConfig:
    """The options of `quantize_as_tvm`, by TVM's names and with its defaults.

    `calibrate_mode` is global_scale, kl_divergence or percentile; `weight_scale` power2 or max; `rounding` UPWARD or TONEAREST.
    With `do_simulation` rounding stays simulated in float32. `calibrate_chunk_by` is taken and has no effect: memory does not
    grow with the number of tensors here. `partition_conversions` is `disabled`: functions for conversions alone are not made.
    """

    nbit_input: int = 8
    nbit_weight: int = 8
    nbit_activation: int = 32
    dtype_input: str = "int8"
    dtype_weight: str = "int8"
    dtype_activation: str = "int32"
    calibrate_mode: str = "global_scale"
    global_scale: float = 8.0
    weight_scale: str = "power2"
    skip_dense_layer: bool = True
    skip_conv_layers: tuple[int, ...] | None = (0,)
    do_simulation: bool = False
    round_for_shift: bool = True
    debug_enabled_ops: tuple[str, ...] | None = None
    rounding: str = "UPWARD"
    calibrate_chunk_by: int = -1
    partition_conversions: str = "disabled"

    @staticmethod
    def of(options: Mapping[str, Any]) -> QConfig:
        """The options that are given, as values or as text of Python. Raises UsageError for an unknown option."""
        from ..ops.base import coerce

        hints = typing.get_type_hints(QConfig)
        settings: dict[str, Any] = {}
        for name, value in options.items():
            if name not in hints:
                raise UsageError(f"qconfig has no option {name}", help=nearest(name, hints), code=WrongQuantization)
            try:
                settings[name] = coerce(_read(value, hints[name]), hints[name])
            except (TypeError, ValueError) as error:
                raise UsageError(f"option {name} of qconfig: {error}", code=WrongQuantization) from None
        result = QConfig(**settings)
        if result.partition_conversions != "disabled":
            raise UsageError(
                f"partition_conversions is disabled here, not {result.partition_conversions}", code=WrongQuantization
            )
        return result

    def options(self, *names: str) -> dict[str, Any]:
        """Some of the options, by name."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name in names}


def _read(value: Any, hint: Any) -> Any:
    if not isinstance(value, str) or hint is str:
        return value
    import ast

    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value
