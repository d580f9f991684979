"""Functions that do more than call the operator of their name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir import Expr, TupleGetItem
from ..ops.base import call
from .literals import as_expr, const


def dropout(data: Expr, rate: float = 0.5) -> Expr:
    """Sets elements to zero while training: the first field of `nn.dropout`, whose second is the mask."""
    return TupleGetItem(dropout_raw(data, rate), 0)


def dropout_raw(data: Expr, rate: float = 0.5) -> Expr:
    """`nn.dropout` with its mask: a tuple."""
    return call("nn.dropout", as_expr(data, "the argument data of nn.dropout"), rate=rate)


def mean(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False) -> Expr:
    """The mean over axes."""
    axis = (axis,) if isinstance(axis, int) else axis
    return call("mean", as_expr(data, "the argument data of mean"), axis=axis, keepdims=keepdims, exclude=exclude)


def variance(
    data: Expr,
    axis: Any = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Expr:
    """The variance over axes, around the mean over them, or around `with_mean`."""
    axis = (axis,) if isinstance(axis, int) else axis
    around = mean(data, axis, True, exclude) if with_mean is None else with_mean
    options = {"axis": axis, "keepdims": keepdims, "exclude": exclude, "unbiased": unbiased}
    return call("variance", as_expr(data, "the argument data of variance"), around, **options)


def std(data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """The square root of the variance."""
    return call("sqrt", variance(data, axis, keepdims, exclude, unbiased))


def mean_variance(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> tuple[Expr, Expr]:
    """The mean and the variance around it."""
    return mean(data, axis, keepdims, exclude), variance(data, axis, keepdims, exclude, unbiased)


def mean_std(
    data: Expr, axis: Any = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> tuple[Expr, Expr]:
    """The mean and the standard deviation around it."""
    return mean(data, axis, keepdims, exclude), std(data, axis, keepdims, exclude, unbiased)


def logsumexp(data: Expr, axis: Any = None, keepdims: bool = False) -> Expr:
    """`log(sum(exp(data)))`, of numbers from which the largest is taken first, so that none overflows."""
    axis = (axis,) if isinstance(axis, int) else axis
    largest = call("max", as_expr(data, "the argument data of logsumexp"), axis=axis, keepdims=True)
    total = call("log", call("sum", call("exp", call("subtract", data, largest)), axis=axis, keepdims=True))
    logarithm = call("add", total, largest)
    return logarithm if keepdims else call("squeeze", logarithm, axis=axis)


def stft(
    data: Expr,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Expr | None = None,
    normalized: bool = False,
    onesided: bool = True,
) -> Expr:
    """The short-time Fourier transform; a window of ones and hops of a quarter of `n_fft` where they are not given."""
    win_length = n_fft if win_length is None else win_length
    window = call("ones", shape=(n_fft,), dtype="int32") if window is None else window
    return call(
        "stft",
        as_expr(data, "the argument data of stft"),
        window,
        n_fft=n_fft,
        hop_length=n_fft // 4 if hop_length is None else hop_length,
        win_length=win_length,
        normalized=normalized,
        onesided=onesided,
    )


def arange(start: Any, stop: Any = None, step: Any = None, dtype: str = "float32") -> Expr:
    """The numbers from `start` (0 where only one bound is given) up to `stop`, `step` (1) apart."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    bounds = [v if isinstance(v, Expr) else const(v, dtype) for v in (start, stop, step)]
    return call("arange", *bounds, start=bounds[0], stop=bounds[1], step=bounds[2], dtype=dtype)


def matrix_set_diag(data: Expr, diagonal: Expr, k: Any = 0, align: str = "RIGHT_LEFT") -> Expr:
    """`data` with other diagonals: the `k`-th, or those from `k[0]` to `k[1]`; `align` says how short ones are stored."""
    low, high = (k[0], k[1] if len(k) > 1 else k[0]) if isinstance(k, tuple | list) else (k, k)
    upper, _, lower = align.partition("_")
    what = "the argument {} of matrix_set_diag"
    return call(
        "matrix_set_diag",
        as_expr(data, what.format("data")),
        as_expr(diagonal, what.format("diagonal")),
        k1=low,
        k2=high,
        super_diag_right_align=upper == "RIGHT",
        sub_diag_right_align=lower == "RIGHT",
    )


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "nn.dropout": dropout,
    "nn.dropout_raw": dropout_raw,
    **{f.__name__: f for f in (mean, variance, std, mean_variance, mean_std, logsumexp, stft, arange, matrix_set_diag)},
}
"""By the name that they have in `relay`."""
