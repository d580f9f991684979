"""Scores of outputs: against labels, and against other outputs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..deferred import np
from .mistakes import BadValue

TOP = 5


@dataclass(frozen=True)
class OutputScore:
    """The measures of one output, by name: `top1`, `top5`, `float_top1`, … are shares of 1; `snr` is in dB.

    Attributes:
        name: `out0`, `out1`, …
        own: its name in the model; empty where it has none.
    """

    name: str
    own: str
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{self.name} ({self.own})" if self.own else self.name

    @property
    def sentence(self) -> str:
        """The measures in a line of text."""
        return ", ".join(_SHOWN[name.removeprefix("float_")](name, value) for name, value in self.values.items()) or (
            "no labels for it"
        )

    def as_dict(self) -> dict[str, Any]:
        """The score for JSON; numbers that are not finite are null."""
        return {"output": self.name, "name": self.own or None} | {
            k: v if math.isfinite(v) else None for k, v in self.values.items()
        }


def _share(name: str, value: float) -> str:
    whose = "float32 " if name.startswith("float_") else ""
    return f"{whose}{_TITLES[name.removeprefix('float_')]} {100 * value:.1f} %"


def _number(name: str, value: float) -> str:
    whose = "float32 " if name.startswith("float_") else ""
    return f"{whose}{_TITLES[name.removeprefix('float_')]} {value:.3g}"


_TITLES = {
    "top1": "top-1",
    "top5": "top-5",
    "mean_error": "mean absolute error",
    "rms_error": "root mean square error",
    "largest_error": "largest error",
    "largest_difference": "largest difference",
    "same_top1": "same class",
}
_SHOWN: dict[str, Any] = {
    **dict.fromkeys(("top1", "top5", "same_top1"), _share),
    **dict.fromkeys(("mean_error", "rms_error", "largest_error", "largest_difference"), _number),
    "snr": lambda name, value: "equal" if value == math.inf else f"{value:.1f} dB",
}


@dataclass(frozen=True)
class Scoring:
    """The references that outputs are measured against.

    Attributes:
        labels, expected: arrays by `out0`, …, or by an output's own name.
        names: of the outputs in the model.
        count: how many samples there are.
    """

    labels: Mapping[str, Any]
    expected: Mapping[str, Any]
    names: Sequence[str]
    count: int
    sources: Mapping[str, str]

    @classmethod
    def read(cls, labels: str | None, expected: str | None, names: Sequence[str], count: int) -> Scoring:
        """Reads the files. Raises IrError for those that cannot be read."""
        sources = {kind: path for kind, path in (("labels", labels), ("expected", expected)) if path is not None}
        read = {kind: _arrays(path) for kind, path in sources.items()}
        return cls(read.get("labels", {}), read.get("expected", {}), names, count, sources)

    def rows(self, outputs: Sequence[Any], exact_outputs: Sequence[Any] | None) -> list[OutputScore]:
        """The measures of each output; samples are along the first axis. `exact_outputs`: the outputs of the float network.

        Raises IrError for labels and outputs that do not fit, and for such of no output.
        """
        self._check_names(len(outputs))
        rows = []
        for n, output in enumerate(outputs):
            own = self.names[n] if n < len(self.names) else ""
            label, expected = (self._of(kind, n, own) for kind in ("labels", "expected"))
            values: dict[str, float] = {}
            if label is not None:
                values |= self._against_labels(f"out{n}", output, label)
                if exact_outputs is not None:
                    exact = self._against_labels(f"out{n}", exact_outputs[n], label)
                    values |= {f"float_{k}": v for k, v in exact.items()}
            if expected is not None:
                expected = self._fit(expected, output.shape, f"out{n}", "expected")
            elif exact_outputs is not None:
                expected = exact_outputs[n]
            if expected is not None:
                values |= differences(output, expected)
            rows.append(OutputScore(f"out{n}", own, values))
        return rows

    def _check_names(self, count: int) -> None:
        for kind, path in self.sources.items():
            arrays = getattr(self, kind)
            if "" in arrays and count > 1:
                raise _wrong(
                    path, f"there are {count} outputs, and one array without a name", "write an .npz with out0, out1, …"
                )
            known = {"", *(f"out{n}" for n in range(count)), *self.names[:count]}
            for name in arrays:
                if name not in known:
                    have = ", ".join(sorted(known - {""}))
                    raise _wrong(path, f"there is no output {name!r}", f"the outputs are {have}")

    def _of(self, kind: str, n: int, own: str) -> Any:
        arrays = getattr(self, kind)
        return next((arrays[k] for k in (f"out{n}", own, "") if k in arrays and (k or n == 0)), None)

    def _fit(self, array: Any, shape: tuple[int, ...], name: str, kind: str) -> Any:
        """The array in a shape of the same elements, samples in front. Raises IrError if it has another number of them."""
        fits = array.shape == shape or (
            array.size == math.prod(shape)
            and [e for e in array.shape if e != 1] == [e for e in _merged(shape) if e != 1]
        )
        fits = fits or [e for e in array.shape if e != 1] == [e for e in shape if e != 1]
        if not fits:
            raise _wrong(
                self.sources[kind],
                f"the array for {name} has the shape {tuple(array.shape)}, and {self.count} samples of {name} are {tuple(shape)}",
            )
        return array.reshape(shape)

    def _against_labels(self, name: str, output: Any, label: Any) -> dict[str, float]:
        if label.dtype.kind in "iub" and output.dtype.kind not in "iub":
            axis = self._class_axis(name, output.shape, label)
            return self._classes(name, np.moveaxis(output, axis, -1), label)
        label = self._fit(label, output.shape, name, "labels")
        if output.dtype.kind in "iub":
            return {"top1": float(np.mean(output == label)) if output.size else math.nan}
        gap = np.abs(output.astype(np.float64) - label.astype(np.float64))
        return {
            "mean_error": float(gap.mean()),
            "rms_error": float(np.sqrt((gap * gap).mean())),
            "largest_error": float(gap.max()),
        }

    def _class_axis(self, name: str, shape: tuple[int, ...], label: Any) -> int:
        """The axis of an output that classes are along: the last one that leaves the shape of the labels. Raises IrError."""
        have = [e for e in label.shape if e != 1]
        for axis in (len(shape) - 1, 2, *range(len(shape) - 2, 0, -1)):
            if 0 < axis < len(shape) and shape[axis] > 1:
                rest = shape[:axis] + shape[axis + 1 :]
                if have in ([e for e in rest if e != 1], [e for e in _merged(rest) if e != 1]):
                    return axis
        rows = math.prod(shape[:-1])
        raise _wrong(
            self.sources["labels"],
            f"there are {label.size} labels of the shape {tuple(label.shape)}, and {self.count} samples of {name} are {tuple(shape)}",
            f"{rows} labels are needed, one for each row of classes",
        )

    def _classes(self, name: str, scores: Any, label: Any) -> dict[str, float]:
        count = scores.shape[-1]
        rows, right = scores.reshape(-1, count), label.reshape(-1).astype(np.int64)
        bad = np.flatnonzero((right < 0) | (right >= count))
        if len(bad):
            raise _wrong(
                self.sources["labels"],
                f"the label {right[bad[0]]} at {bad[0]} is no class of {name}, which has 0 to {count - 1}",
                "labels begin at 0" if right.min() >= 1 else "",
            )
        order = np.argsort(-rows.astype(np.float64), axis=-1, kind="stable")
        hits = order == right[:, None]
        scored = {"top1": float(hits[:, 0].mean())}
        return scored | ({"top5": float(hits[:, :TOP].any(axis=1).mean())} if count > TOP else {})


def differences(output: Any, expected: Any) -> dict[str, float]:
    """The difference of an output from another: dB, the largest difference, and for rows of floats the share with the same largest
    element."""
    from ..driver.precision import precision_error

    error = precision_error(expected, output)
    values = {"snr": error.snr, "largest_difference": float(_largest(output, expected))}
    if output.dtype.kind not in "iub" and output.ndim > 1 and output.shape[-1] > 1:
        values["same_top1"] = float((output.argmax(axis=-1) == expected.argmax(axis=-1)).mean())
    return values


def _largest(x: Any, y: Any) -> Any:
    with np.errstate(all="ignore"):
        p, q = x.astype(np.float64), y.astype(np.float64)
        gap = np.where((p == q) | (np.isnan(p) & np.isnan(q)), 0.0, np.abs(p - q))
    return gap.max(initial=0.0)


def _merged(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with samples and the first extent as one: a set may have both along one axis."""
    return (shape[0] * shape[1], *shape[2:]) if len(shape) > 1 else shape


def _arrays(path: str) -> dict[str, Any]:
    """The arrays of a file by name; that of an `.npy` under the empty name."""
    from ..diagnostics import IrError
    from ..parser.params import holds_names
    from .source import read_array, read_arrays

    try:
        has_names = os.path.isdir(path) or holds_names(path)
    except OSError as error:
        from .mistakes import UnreadableFile

        raise IrError(f"cannot read {path}: {error.strerror or error}", code=UnreadableFile) from None
    return dict(read_arrays(path, role="output")) if has_names else {"": read_array(path, "")}


def _wrong(path: str, message: str, help: str = "") -> Exception:
    from ..diagnostics import IrError

    return IrError(message, filename=path, help=help, code=BadValue)
