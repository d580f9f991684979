"""Results of one network in one precision: a file that is written after each switch, so that an interruption loses at most one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..json_file import read_json, write_json
from ..operators.table import BY_NAME as OPERATORS

LIMIT = 0.01
"""Smaller changes of a network's time count as no change."""


class Record:
    """The results of a network, in `FOLDER/NAME.PRECISION.json`.

    `facts`: what is known of the network as it is built with everything: `active` switches, and the numbers of its files; or an
    `error` why it cannot be measured. `switches`: the result for each switch by name, one of

    - `same`: the C text is the same without it;
    - `failed`: why there is no network without it;
    - `ratio`: milliseconds `without` it over those `with` it, the `difference` of the outputs, and sizes.
    """

    def __init__(self, folder: Path, network: str, precision: str) -> None:
        self.network, self.precision = network, precision
        self._path = folder / f"{network}.{precision}.json"
        known = read_json(self._path)
        self.facts: dict[str, Any] = known.get("facts", {})
        self.switches: dict[str, dict[str, Any]] = known.get("switches", {})

    @property
    def is_operator(self) -> bool:
        """True for the record of a single operator."""
        return self.network in OPERATORS

    def save(self) -> None:
        """Writes the file."""
        write_json(self._path, {"facts": self.facts, "switches": self.switches})

    def moved(self, switch: str) -> bool:
        """True if the network is slower or faster without it, by more than `LIMIT`."""
        return abs(self.switches.get(switch, {}).get("ratio", 1.0) - 1) > LIMIT

    def needs(self, switch: str) -> bool:
        """True if there is no right network without it."""
        result = self.switches.get(switch, {})
        return "failed" in result or bool(result.get("wrong"))


def read_records(folder: Path) -> list[Record]:
    """All results in a folder, sorted by network and precision."""
    names = (path.name.rsplit(".", 2)[:2] for path in sorted(folder.glob("*.*.json")))
    return [Record(folder, network, precision) for network, precision in names]
