"""The instructions that a network takes on a board, by kernel, as its emulator counts them.

Two programs are run: one counts the entry function alone, the other one each kernel. The compiler's hooks at the begin and the end of functions
read the counter; what they take themselves is not counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..boards.counts import FunctionCount, counting_flags, read_counts
from .session import BuildInput, Session

if TYPE_CHECKING:
    from ..ir import Module
    from .options import Options

_OTHER_FUNCTIONS = 16
"""Functions beside kernels that have a place in the table of counts."""


@dataclass(frozen=True)
class InstructionCounts:
    """The instructions of a run.

    Attributes:
        report: the build report.
        total: those of the entry function with all that it calls.
        kernels: calls and instructions by the name of the kernel.
    """

    report: Mapping[str, Any]
    total: int
    kernels: Mapping[str, FunctionCount]

    def record(self) -> dict[str, Any]:
        """The same for JSON."""
        macs = {k["name"]: k["macs"] for k in self.report["kernels"]}
        operators = {k["name"]: k["operators"] for k in self.report["kernels"]}
        return {
            "board": self.report["board"]["name"],
            "instructions": self.total,
            "macs": self.report["macs"],
            "kernels": [
                {
                    "name": name,
                    "operators": operators[name],
                    "calls": count.calls,
                    "instructions": count.instructions,
                    "macs": macs[name] * count.calls,
                }
                for name, count in self.kernels.items()
            ],
        }


def count_instructions(
    module: Module, options: Options, inputs: Sequence[Any], seconds: float | None
) -> InstructionCounts:
    """Builds and runs the programs of an entry on a board; `seconds` is the time limit of each run.

    Raises UsageError without a board, and what builds and runs raise.
    """
    whole, report = _counted(module, options, inputs, seconds, _OTHER_FUNCTIONS, "irt_,tvmgen_")
    entry = report["entries"][options.entries[0]]
    total = max(whole[name].instructions for name in (entry["run"], entry["run_with"]) if name in whole)
    parts, report = _counted(module, options, inputs, seconds, len(report["kernels"]) + _OTHER_FUNCTIONS, "irt_")
    by_name = {k["c_name"]: k["name"] for k in report["kernels"]}
    kernels = {by_name[f]: count for f, count in parts.items() if f in by_name}
    ordered = sorted(kernels.items(), key=lambda item: (-item[1].instructions, item[0]))
    return InstructionCounts(report, total, dict(ordered))


def _counted(
    module: Module, options: Options, inputs: Sequence[Any], seconds: float | None, functions: int, excluded: str
) -> tuple[Mapping[str, FunctionCount], dict[str, Any]]:
    """The counts of a program, and the report of its build."""
    backend: Any = options.backend
    flags = " ".join(filter(None, [backend.cflags, counting_flags(functions, excluded)]))
    counted = replace(options, emit="exe", backend=replace(backend, cflags=flags, testbench=False))
    artifact = Session(counted, False).build(BuildInput(lambda: module, dict, lambda key: None), None)
    artifact.time_limit = seconds
    artifact._counter = []
    artifact.run(inputs)
    program = artifact._program
    assert program is not None
    return read_counts("".join(artifact._counter), program, artifact.report["board"]["prefix"]), artifact.report
