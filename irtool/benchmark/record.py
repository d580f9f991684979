"""Records of measurements."""

from __future__ import annotations

import json
import statistics
from dataclasses import asdict, dataclass, field
from typing import Any

from ..diagnostics import UsageError
from ..files import read_bytes

FORMAT = "irtool-bench-1"


@dataclass
class Times:
    """Seconds of one run, by round of measuring."""

    rounds: list[float]

    @property
    def middle(self) -> float:
        """The median."""
        return statistics.median(self.rounds)

    @property
    def noise(self) -> float:
        """Half of the way from the fastest to the slowest round, as a part of the median."""
        return (max(self.rounds) - min(self.rounds)) / 2 / self.middle if self.middle else 0.0


@dataclass
class KernelTimes(Times):
    """A kernel of a network.

    Attributes:
        name: as it is in the C.
        operators: its operators.
        strategy: how its main stage is scheduled.
        calls: how often one run calls it, each execution of a loop or a function counted.
        macs: multiply-adds of a call.
        nbytes: bytes of its inputs and outputs, each once.
        result: dtype and shape of its first output.
        nodes: names of the nodes of an imported model that it computes.
    """

    name: str = ""
    operators: list[str] = field(default_factory=list)
    strategy: str = ""
    calls: int = 1
    macs: int = 0
    nbytes: int = 0
    result: str = ""
    nodes: list[str] = field(default_factory=list)

    @property
    def whole(self) -> float:
        """Seconds of all its calls in a run."""
        return self.middle * self.calls


@dataclass
class LengthTimes(Times):
    """The compiled network at some lengths that the run decides.

    Attributes:
        lengths: by name.
    """

    lengths: dict[str, int] = field(default_factory=dict)


@dataclass
class Peak:
    """Of one core: multiply-adds of float32 (counted as two operations) and bytes copied, a second."""

    flops: float
    copied: float


@dataclass
class Record:
    """One measuring.

    Attributes:
        subject: the file.
        machine: the processor and its other load.
        options: of the build, those that are not the default.
        whole: the compiled network; None if it was not run.
        interpreter: the interpreter; None if it was left out.
        kernels: those that were measured, most time first.
        sequence: numbers of kernels, one for each step that calls one, in their order; those of a loop stand there once.
        repeats: how often a run executes each of these steps; empty: once each, in records that did not count.
        by_length: the compiled network at several lengths that the run decides; `whole` is at those of the inputs, by default the greatest.
        skipped: kernels without loops of ours, which are in `whole` only.
        region_used: the most bytes of the region for data and recursion that a run used at one time; 0 without a region.
    """

    subject: str
    machine: str
    options: dict[str, Any]
    whole: Times | None = None
    interpreter: Times | None = None
    kernels: list[KernelTimes] = field(default_factory=list)
    sequence: list[int] = field(default_factory=list)
    repeats: list[int] = field(default_factory=list)
    skipped: int = 0
    peak: Peak | None = None
    by_length: list[LengthTimes] = field(default_factory=list)
    region_used: int = 0

    def to_json(self) -> str:
        """Readable JSON; the same record gives the same text."""
        about = asdict(self)
        for name in ("by_length", "region_used"):
            if not about[name]:
                del about[name]
        return json.dumps({"format": FORMAT, **about}, indent=1) + "\n"

    @staticmethod
    def read(path: str) -> Record:
        """Raises UsageError for a file that cannot be read, or is no record."""
        try:
            data = json.loads(read_bytes(path))
            if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
                raise ValueError(f"it is not of the format {FORMAT}")
            for key, kind in (("whole", Times), ("interpreter", Times), ("peak", Peak)):
                if data.get(key) is not None:
                    data[key] = kind(**data[key])
            data["kernels"] = [KernelTimes(**k) for k in data.get("kernels", ())]
            data["by_length"] = [LengthTimes(**t) for t in data.get("by_length", ())]
            record = Record(**data)
            _check(record)
        except OSError as error:
            raise UsageError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"{path} has no record of `irtool bench --json`: {error}") from None
        return record


def _check(record: Record) -> None:
    timed = [t for t in (record.whole, record.interpreter, *record.kernels) if t is not None]
    if not all(t.rounds and all(isinstance(s, int | float) and s >= 0 for s in t.rounds) for t in timed):
        raise ValueError("times are missing or no numbers of seconds")
    if not all(isinstance(n, int) and 0 <= n < len(record.kernels) for n in record.sequence):
        raise ValueError("the sequence names kernels that are not there")
    if not all(isinstance(n, int) and n >= 0 for n in record.repeats):
        raise ValueError("repeats are no counts")
    if record.repeats and len(record.repeats) != len(record.sequence):
        raise ValueError("there are more or fewer repeats than steps")
