"""The one rule by which an array stands for a tensor: for the interpreter, for compiled code, for weights.

Its shape is the tensor's. Its dtype is the tensor's, or one whose every value the tensor's dtype holds (int32 for int64, uint8
for float32, float32 for float64); then it is converted, with a `ConversionWarning`. Everything else is refused, with the conversion to
write: what the values happen to be decides nothing, so that a program which runs today runs tomorrow. The order of bytes and
the order of axes in memory do not matter.

Python's own numbers, and lists of them, have no dtype: they are taken as the tensor's where it holds them, floats rounded.
So is an integer array without axes, as numpy makes one of any integer, if it fits. Integers of 4 bits, which numpy does not have, stand in
wider ones, whose values must fit.
"""

from __future__ import annotations

import math
import sys
import warnings
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..diagnostics import ConversionWarning, IrError, Span
from ..symbolic_int import Symbol, SymbolicInt, alone, extent_of, symbols_of, value_at
from .dims import ANY, DimVar
from .dtypes import numpy_dtype
from .mistakes import ValueDoesNotFit
from .narrow import LIMITS, NARROW
from .ndarray import storage
from .types import TensorType
from .values import value_leaves

if TYPE_CHECKING:
    import numpy as np

Sizes = dict[DimVar | Symbol, tuple[int, str]]
"""The known sizes of named dimensions, with the value that determines each."""

_MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}
"""Binary digits that a float has: integers of so many are exact in it."""

_WITHIN: dict[str, tuple[str, ...]] = {
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "float32": ("float64",),
}
"""The wider floats."""

_BITS_OF = "bfloat16"


def _tell(what: str, expected: str, actual: str) -> None:
    """A ConversionWarning, at the line outside of irtool that asked for it."""
    package = __name__.partition(".")[0]
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    sentence = f"{what} is {expected}, and its value is {actual}: it was converted, which loses nothing"
    warnings.warn(sentence, ConversionWarning, stacklevel=level)


def holds_every(target: str, source: str) -> bool:
    """True if every value of the dtype `source` is a value of the dtype `target`."""
    if source == target or source == "bool":
        return True
    if source in _MANTISSA:
        return target in _WITHIN.get(source, ())
    signed, bits = source.startswith("int"), _bits(source)
    if target in _MANTISSA:
        return bits - signed <= _MANTISSA[target]
    if target.startswith("int"):
        return bits + (not signed) <= _bits(target)
    return target.startswith("uint") and not signed and bits <= _bits(target)


def _bits(dtype: str) -> int:
    return int(dtype.lstrip("uint"))


def as_bfloat16_bits(array: np.ndarray) -> np.ndarray:
    """The uint16 array, marked as the bits of bfloat16 numbers: it is never taken for integers."""
    return marked(array, _BITS_OF)


def marked(array: np.ndarray, dtype: str) -> np.ndarray:
    """The array that holds elements of a dtype (`ir.ndarray.storage`), marked as one of it if numpy does not have the dtype."""
    import numpy as np

    if storage(dtype) == dtype:
        return array
    return array.view(np.dtype(storage(dtype), metadata={"irtool": dtype}))


def dtype_name(array: np.ndarray) -> str:
    """The dtype of an array by its name in Relay, for any byte order; numpy's name where Relay has none."""
    import numpy as np

    dtype = array.dtype if isinstance(array, np.ndarray | np.generic) else np.asarray(array).dtype
    if dtype.metadata is not None and "irtool" in dtype.metadata:
        return str(dtype.metadata["irtool"])
    if dtype.str == "|V2":
        return _BITS_OF  # numpy reads bfloat16 saved by ml_dtypes as `|V2`
    return dtype.name if dtype.kind in "biuf" or dtype.name == _BITS_OF else str(dtype.newbyteorder("="))


def fit(
    value: Any,
    ty: TensorType,
    what: str,
    span: Span | None = None,
    sizes: Sizes | None = None,
) -> np.ndarray:
    """The value as an array of the tensor's dtype in the machine's order of bytes; the same array where it is one already.
    A ConversionWarning tells of a conversion.

    bfloat16 is an array of `ml_dtypes`, or of its bits (uint16) where that package is absent.

    Args:
        what: names it in messages: `%x`.
        span: where the parameter stands.
        sizes: of the named dimensions, to which those of this value are added.

    Raises IrError if the rule refuses it.
    """
    import numpy as np

    if isinstance(value, bool | int | float | list | tuple) and not isinstance(value, np.generic):
        array = _numbers(value, ty, what, span)
    elif isinstance(value, np.ndarray | np.generic) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        array = _as_array(value, ty, what, span)
    else:
        raise IrError(
            f"{what} is {ty!r}, but its value is {_article(value)}, which is no array", span, code=ValueDoesNotFit
        )
    _check_dtype(array, ty, what, span)
    _check_shape(array, ty, what, span, {} if sizes is None else sizes)
    return _converted(array, ty, what)


def _as_array(value: Any, ty: TensorType, what: str, span: Span | None) -> np.ndarray:
    import numpy as np

    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise IrError(
            f"{what} is {ty!r}, but some elements of its value are masked",
            span,
            help="fill them: x.filled(…)",
            code=ValueDoesNotFit,
        )
    try:
        return np.asarray(value) if isinstance(value, np.ndarray | np.generic) else _shared(value, ty, what, span)
    except IrError:
        raise
    except Exception as error:  # noqa: BLE001 - the object's own code may raise any exception
        raise IrError(f"{what} is {ty!r}, but its value gives no array: {error}", span, code=ValueDoesNotFit) from None


_DEVICES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 12: "ext", 14: "oneAPI", 15: "WebGPU"}
"""Devices of DLPack whose memory the processor does not read, by number; others are the processor's own."""


def _shared(value: Any, ty: TensorType, what: str, span: Span | None) -> np.ndarray:
    """The array of an object of another library: by DLPack, without a copy, if it has that, else by `__array__`."""
    import numpy as np

    if not hasattr(value, "__dlpack__") or not hasattr(value, "__dlpack_device__"):
        return np.asarray(value)
    kind, number = value.__dlpack_device__()
    if int(kind) in _DEVICES:
        device = f"{_DEVICES[int(kind)]} {int(number)}"
        raise IrError(
            f"{what} is {ty!r}, but its value is in the memory of the device {device}",
            span,
            help="copy it to the memory of the processor first, as x.cpu() does",
            code=ValueDoesNotFit,
        )
    try:
        return np.from_dlpack(value)
    except Exception:
        if not hasattr(value, "__array__"):
            raise
        return np.asarray(value)  # of a dtype, or a mode, that its DLPack does not export


def _check_dtype(array: np.ndarray, ty: TensorType, what: str, span: Span | None) -> None:
    """Raises IrError if the tensor's dtype does not hold the array's values."""
    expected, actual = ty.dtype, dtype_name(array)
    if actual == expected or (expected == _BITS_OF and actual == "uint16"):
        return
    if expected in NARROW:
        _check_narrow(array, ty, what, span)
        return
    dtype, kind = numpy_dtype(expected), array.dtype.kind
    if actual in _MANTISSA or kind in "biu":
        if holds_every(expected, actual) or (array.ndim == 0 and kind in "iu" and _holds(dtype, int(array))):
            return
    message, hint = f"{_clash(array, actual, ty, what)}: the data types differ", None
    if kind in "biuf" or actual == _BITS_OF:
        message += f", and not every {actual} is a {expected}"
        hint = f'if rounding or wrapping is meant, convert it first: np.asarray(x).astype("{expected}")'
    raise IrError(message, span, help=hint, code=ValueDoesNotFit)


def _check_narrow(array: np.ndarray, ty: TensorType, what: str, span: Span | None) -> None:
    """Raises IrError if an integer is beyond 4 bits: arrays hold these in wider integers, so that the values decide."""
    if array.dtype.kind not in "iu":
        message = f"{_clash(array, dtype_name(array), ty, what)}: the data types differ"
        raise IrError(message, span, code=ValueDoesNotFit)
    least, largest = LIMITS[ty.dtype]
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if low < least or high > largest:
        beyond = low if low < least else high
        message = f"{_clash(array, dtype_name(array), ty, what)}: {beyond} is no {ty.dtype}, which goes from {least} to {largest}"
        raise IrError(message, span, code=ValueDoesNotFit)


def _converted(array: np.ndarray, ty: TensorType, what: str) -> np.ndarray:
    """The array with the tensor's dtype, which holds it."""
    expected, actual = ty.dtype, dtype_name(array)
    if expected in NARROW:
        return array if actual == expected else marked(array.astype(storage(expected)), expected)
    if actual == _BITS_OF or (expected == _BITS_OF and actual == "uint16"):
        array = _bfloat16(array)
        if expected == _BITS_OF:
            return array
        numpy_dtype(actual)  # says which package is missing
    dtype = numpy_dtype(expected)
    if actual == expected and array.dtype.isnative:
        return array
    if actual != expected:
        _tell(what, expected, actual)
    return array.astype(dtype)


def _bfloat16(array: np.ndarray) -> np.ndarray:
    """bfloat16 numbers, or their bits, in the best available dtype."""
    import numpy as np

    if array.dtype.name == _BITS_OF:
        return array
    if array.dtype.kind == "u" and not array.dtype.isnative:
        array = array.astype(np.uint16)
    try:
        return array.view(numpy_dtype(_BITS_OF))
    except IrError:
        return as_bfloat16_bits(array)


def _holds(dtype: np.dtype, value: int) -> bool:
    import numpy as np

    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return int(limits.min) <= value <= int(limits.max)


def _numbers(value: Any, ty: TensorType, what: str, span: Span | None) -> np.ndarray:
    """Python's numbers as the wanted dtype, which holds them: integers exactly, floats rounded but not to infinity. Where
    there are arrays among them, their own dtype counts."""
    import numpy as np

    def refused(reason: str) -> IrError:
        return IrError(f"{what} is {ty!r}: {reason}", span, code=ValueDoesNotFit)

    leaves = value_leaves(value)
    if any(hasattr(v, "__array__") for v in leaves):
        try:
            return np.asarray(value)
        except (ValueError, TypeError) as error:
            raise refused(str(error)) from None
    dtype = numpy_dtype(storage(ty.dtype) if ty.dtype in NARROW else ty.dtype)
    for v in leaves:
        if not isinstance(v, bool | int | float):
            raise refused(f"its value has {_article(v)} in it, which is no number")
        if isinstance(v, float) and ty.dtype not in _MANTISSA:
            raise refused(f"{v} is no {ty.dtype}")
        if not isinstance(v, float) and not _is_exact(v, ty.dtype):
            raise refused(f"{v} is no {ty.dtype}")
    try:
        with np.errstate(over="ignore"):
            array = np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise refused(str(error)) from None
    if ty.dtype in _MANTISSA:
        for v, narrowed in zip(leaves, array.ravel().astype(np.float64).tolist()):
            if math.isinf(narrowed) and not math.isinf(v):
                raise refused(f"{v} is too large for {ty.dtype}")
    return array


def _is_exact(number: int, dtype: str) -> bool:
    """True if the dtype has that integer."""
    import numpy as np

    if dtype == "bool":
        return number in (0, 1)
    if dtype in NARROW:
        return LIMITS[dtype][0] <= number <= LIMITS[dtype][1]
    if dtype not in _MANTISSA:
        return _holds(numpy_dtype(dtype), number)
    if abs(number) <= 2 ** _MANTISSA[dtype]:
        return True
    try:
        return int(np.asarray(float(number)).astype(numpy_dtype(dtype)).astype(np.float64)) == number
    except OverflowError:
        return False


def _check_shape(array: np.ndarray, ty: TensorType, what: str, span: Span | None, sizes: Sizes) -> None:
    if array.ndim != len(ty.shape):
        clash = _clash(array, dtype_name(array), ty, what)
        raise IrError(f"{clash}: the ranks are {len(ty.shape)} and {array.ndim}", span, code=ValueDoesNotFit)
    for axis, (extent, size) in enumerate(zip(ty.shape, array.shape, strict=True)):
        if isinstance(extent, DimVar):
            extent, who = sizes.setdefault(extent, (size, what))
            if extent != size:
                raise IrError(
                    f"{what}: axis {axis} is {size}, and the same dimension is {extent} in {who}",
                    span,
                    code=ValueDoesNotFit,
                )
        elif isinstance(extent, SymbolicInt):
            _check_length(axis, extent, size, what, span, sizes)
        elif isinstance(extent, int) and extent is not ANY and extent != size:
            clash = _clash(array, dtype_name(array), ty, what)
            raise IrError(f"{clash}: axis {axis} is {extent} and {size}", span, code=ValueDoesNotFit)


def _check_length(axis: int, extent: SymbolicInt, size: int, what: str, span: Span | None, sizes: Sizes) -> None:
    """A length is within its bounds and the same everywhere; a formula of lengths is checked where all of these are known."""
    symbols = extent.symbols()
    if (symbol := alone(extent)) is not None:
        factor, more = extent.terms[(symbol,)], extent.terms.get((), 0)
        steps, rest = divmod(size - more, factor)
        length = steps * symbol.step
        if rest or length not in symbol:
            meaning = "" if extent == extent_of(symbol) else f" = {extent}"
            raise IrError(
                f"{what}: axis {axis}{meaning} is {size}, and {symbol.name} is {symbol.range}",
                span,
                code=ValueDoesNotFit,
            )
        sizes.setdefault(symbol, (length, what))
    if any(s not in sizes for s in symbols):
        return
    expected = value_at(extent, {s: sizes[s][0] for s in symbols})
    if expected != size:
        where = ", ".join(f"{s.name} is {sizes[s][0]} in {sizes[s][1]}" for s in symbols_of([extent]))
        raise IrError(f"{what}: axis {axis} is {size}, and must be {expected}: {where}", span, code=ValueDoesNotFit)


def _clash(array: np.ndarray, dtype: str, ty: TensorType, what: str) -> str:
    return f"{what} is {ty!r}, but its value is {dtype}{list(array.shape)}"


def _article(value: Any) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[:1] in 'aeiouAEIO' else 'a'} {name}"


__all__ = [
    "Sizes",
    "as_bfloat16_bits",
    "dtype_name",
    "fit",
    "holds_every",
    "marked",
]
