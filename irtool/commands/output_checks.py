"""Checks of the outputs of `irtool run`: comparison with those of a file, ranking, writing of intermediates."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .grouped import grouped
from .mistakes import ClashingOptions, UnreadableFile

if TYPE_CHECKING:
    from ..ir import Module

_SHOWN = 10
"""Mismatches that are listed for an output."""


@dataclass(frozen=True)
class OutputChecks:
    """The options of `output_check_options`."""

    expect: str | None = None
    rtol: float = 1e-4
    atol: float = 1e-5
    ulp: int = 0
    top: int = 0
    labels: str | None = None
    dump_values: str | None = None

    def check(self) -> None:
        """Raises UsageError for options without one that they need, and IrError for files that cannot be read, before anything
        runs."""
        from ..diagnostics import UsageError

        context = click.get_current_context()
        for name in ("rtol", "atol", "ulp"):
            is_given = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            if is_given and self.expect is None:
                raise UsageError(f"--{name} is for --expect", code=ClashingOptions)
        if self.labels is not None and not self.top:
            raise UsageError(
                "--labels is for --top", help="--top=5 shows the five largest scores", code=ClashingOptions
            )
        _ = self._expected, self._names

    @functools.cached_property
    def _expected(self) -> dict[str, Any]:
        from .source import read_arrays

        return dict(read_arrays(self.expect, role="output")) if self.expect is not None else {}

    @functools.cached_property
    def _names(self) -> list[str]:
        return _lines(self.labels) if self.labels is not None else []

    def rank(self, outputs: Sequence[Any]) -> None:
        """Prints the largest scores of the first output, each row of its last axis by itself."""
        import numpy as np

        if not self.top:
            return
        scores = np.asarray(outputs[0]).astype(np.float64) if outputs else np.zeros(0)
        rows = scores.reshape(-1, scores.shape[-1]) if scores.ndim and scores.size else np.zeros((0, 1))
        labels = self._names
        for n, row in enumerate(rows):
            if len(rows) > 1:
                click.echo(f"row {n}:")
            for place in np.argsort(-row, kind="stable")[: self.top].tolist():
                name = labels[place] if place < len(labels) else ""
                click.echo(f"{row[place]:10.4g}  {place:5d}  {name}".rstrip())

    def compare(self, outputs: Sequence[Any], names: Sequence[str]) -> None:
        """Compares outputs with those of the file; exits with code 1 where they differ.

        Arrays are found by `out0`, `out1`, …, by the names of outputs in the model, or by position if there are as many.
        Raises IrError if the file has none for an output.
        """
        if self.expect is None:
            return
        arrays = self._expected
        by_position = list(arrays.values()) if len(arrays) == len(outputs) else []
        differing = False
        for n, got in enumerate(outputs):
            named = names[n] if n < len(names) else ""
            expected = arrays.get(f"out{n}", arrays.get(named, by_position[n] if by_position else None))
            if expected is None:
                from ..diagnostics import IrError

                have = ", ".join(list(arrays)[:_SHOWN])
                raise IrError(f"the file has no array out{n}; it has {have}", filename=self.expect)
            differing |= self._differs(f"out{n}", got, expected)
        if differing:
            raise click.exceptions.Exit(1)
        click.echo(f"the outputs agree with {self.expect}")

    def _differs(self, name: str, got: Any, expected: Any) -> bool:
        """True if an output differs; the difference is printed."""
        import numpy as np

        from .ulps import ulp_distance

        x, y = np.asarray(got), np.asarray(expected)
        if x.shape != y.shape or x.dtype != y.dtype:
            click.echo(f"{name}: {x.dtype}{list(x.shape)} instead of {y.dtype}{list(y.shape)}")
            return True
        ulps = ulp_distance(x, y)
        p, q = x.astype(np.float64), y.astype(np.float64)
        with np.errstate(all="ignore"):
            gap = np.abs(p - q)
            fits = (x == y) | (np.isnan(p) & np.isnan(q)) | (gap <= self.atol + self.rtol * np.abs(q))
        if ulps is not None and self.ulp:
            fits |= ulps <= self.ulp
        positions = np.argwhere(~fits)
        if not len(positions):
            return False
        click.echo(f"{name}: {len(positions)} of {x.size} element{'' if x.size == 1 else 's'} differ")
        for place in map(tuple, positions[:_SHOWN].tolist()):
            far = f", {int(ulps[place])} ulp" if ulps is not None else ""
            click.echo(f"  {list(place)}  {x[place]} instead of {y[place]} (by {gap[place]:.3g}{far})")
        if len(positions) > _SHOWN:
            click.echo(f"  … and {len(positions) - _SHOWN} more")
        return True

    def dump(self, module: Module, entry: str, values: Sequence[Any]) -> None:
        """Writes every intermediate value of the entry to the folder, by the interpreter: `0003.nn.conv2d.npy`, …"""
        from ..diagnostics import IrError
        from .intermediate import intermediates
        from .mistakes import UnwritableFile

        if self.dump_values is None:
            return
        try:
            os.makedirs(self.dump_values, exist_ok=True)
        except OSError as error:
            raise IrError(f"cannot write to {self.dump_values}: {error.strerror}", code=UnwritableFile) from None
        import io

        import numpy as np

        from .output import write_bytes

        for name, array in intermediates(module, entry, values):
            buffer = io.BytesIO()
            np.save(buffer, np.asarray(array))
            write_bytes(os.path.join(self.dump_values, f"{name}.npy"), buffer.getvalue(), follow=False)


def _lines(path: str) -> list[str]:
    from ..diagnostics import IrError
    from ..files import open_text

    try:
        with open_text(path) as source:
            return source.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise IrError(f"cannot read {path}: {why}", code=UnreadableFile) from None


output_check_options = grouped(
    "checks",
    OutputChecks,
    click.option(
        "--expect",
        type=param_types.READ,
        metavar="FILE.npz",
        default=None,
        help="Compare the outputs with out0, out1, … in a file, or with output_0.pb, … in a folder of ONNX test data; exit code 1 if they differ.",
    ),
    click.option("--rtol", default=1e-4, show_default=True, help="Relative tolerance of --expect."),
    click.option("--atol", default=1e-5, show_default=True, help="Absolute tolerance of --expect."),
    click.option(
        "--ulp",
        default=0,
        show_default=True,
        type=click.IntRange(0),
        help="Units in the last place that --expect allows beside these.",
    ),
    click.option(
        "--top", default=0, type=click.IntRange(0), metavar="N", help="Print the N largest scores of the first output."
    ),
    click.option(
        "--labels",
        type=param_types.READ,
        metavar="FILE",
        default=None,
        help="Names of the scores for --top, one a line.",
    ),
    click.option(
        "--dump-values",
        type=param_types.FOLDER,
        metavar="DIR",
        default=None,
        help="Write every intermediate value to a folder (by the interpreter).",
    ),
)
"""The options about outputs, as one `OutputChecks`, `checks`."""
