"""Tables of measurements: JSON that `irtool tune` writes and `build --tuned` reads.

::

    {"format": "irtool tuned 1",
     "machines": {"Intel(R) Xeon(R) Processor, 512-bit vectors": {
       "stages": {"8c1f…": {"kernel": "fused_nn_conv2d_add", "choice": "register_tile: axis 1, tile 14 x 2 x 16",
                            "microseconds": 81.2, "untuned": "register_tile: …", "untuned_microseconds": 95.0,
                            "trials": {"register_tile: …": 95.0, …}}}}}}

A stage's key tells what it computes (`schedule.scripts.tuned.stage_key`), and a choice which offer of which strategy it gets.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..backends.base import Backend, VectorTarget
from ..diagnostics import UsageError
from ..files import Draft, read_bytes
from .options import Options
from .shipped_tables import SHIPPED, conditions, table_for, tables

FORMAT = "irtool tuned 1"


class Table:
    """Measurements by machine and stage. `data` is the JSON value."""

    def __init__(self, data: dict[str, Any] | None = None) -> None:
        self.data: dict[str, Any] = data or {"format": FORMAT, "machines": {}}

    @staticmethod
    def read(path: str | os.PathLike[str]) -> Table:
        """Raises UsageError for a file that cannot be read, or is no such table."""
        try:
            data = json.loads(read_bytes(path))
        except OSError as error:
            raise UsageError(f"cannot read {os.fspath(path)}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{os.fspath(path)} is no table of measurements: {error}") from None
        problem = _problem(data)
        if problem:
            raise UsageError(f"{os.fspath(path)} is no table of measurements: {problem}")
        return Table(data)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the file, whole or not at all. Raises OSError."""
        text = json.dumps(self.data, indent=1, ensure_ascii=False, sort_keys=True)
        with Draft(path) as draft:
            draft.out.write(f"{text}\n".encode())

    @property
    def machines(self) -> list[str]:
        """The machines that it has measurements of."""
        return sorted(self.data["machines"])

    def stages(self, machine: str) -> dict[str, Any]:
        """The entries of a machine by stage, to read and to change."""
        result: dict[str, Any] = self.data["machines"].setdefault(machine, {"stages": {}})["stages"]
        return result

    def choices(self, machine: str) -> dict[str, str]:
        """The best choice of each stage on a machine, where it is another than the one that is made without a table."""
        stages = self.data["machines"].get(machine, {"stages": {}})["stages"]
        return {key: e["choice"] for key, e in sorted(stages.items()) if e["choice"] != e["untuned"]}


def machine_name(backend: Backend, machine: VectorTarget) -> str:
    """The key of measurements of a backend's code."""
    return f"{backend.processor()}, {8 * machine.vector_bytes}-bit vectors"


def with_table(options: Options, path: str | os.PathLike[str] | None) -> tuple[Options, list[str]]:
    """The options with a table's choices for their machine, and a warning if it has none.

    `path`: a file; or `shipped` for the table that comes with irtool. Without it, the options as they are. Raises UsageError for a
    file that is no table.
    """
    if path is None:
        return options, list(options.notes)
    target = options.backend.machine().resized(dict(options.sizes))
    if path == SHIPPED:
        return _with_shipped(options, target)
    table, name = Table.read(path), os.fspath(path)
    machine = machine_name(options.backend, target)
    if machine not in table.machines:
        have = "; ".join(table.machines) or "none"
        return options, [*options.notes, f"warning: {name} has no measurements of {machine} (it has: {have})"]
    return replace(options, tuned=tuple(table.choices(machine).items())), list(options.notes)


def _with_shipped(options: Options, target: VectorTarget) -> tuple[Options, list[str]]:
    mcpu, openmp = (getattr(options.backend, name, None) for name in ("mcpu", "openmp"))
    machine_key = conditions(target.vector_bytes, bool(openmp))
    data = table_for(str(mcpu), options.backend.processor_numbers())
    if data is None or machine_key not in data["machines"]:
        have = (
            "; ".join(f"{t['for']['title']}, {machine}" for t in tables().values() for machine in t["machines"])
            or "none"
        )
        machine_key = machine_name(options.backend, target)
        return options, [*options.notes, f"warning: irtool ships no measurements of {machine_key} (it has: {have})"]
    return replace(options, tuned=tuple(Table(data).choices(machine_key).items())), list(options.notes)


def _problem(data: Any) -> str:
    """The error in a table; empty if it is valid."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        return f"its format is not {FORMAT!r}"
    machines = data.get("machines")
    if not isinstance(machines, Mapping):
        return "it has no machines"
    for name, machine in machines.items():
        stages = machine.get("stages") if isinstance(machine, Mapping) else None
        if not isinstance(stages, Mapping):
            return f"{name} has no stages"
        for key, e in stages.items():
            if not isinstance(e, Mapping) or not all(isinstance(e.get(k), str) for k in ("choice", "untuned")):
                return f"stage {key} of {name} has no choice"
    return ""
