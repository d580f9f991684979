"""Tables of measurements that come with irtool, one file for each kind of processor, for `build --tuned shipped`.

A file is a table as `irtool tune` writes it, with the best choice of each stage alone, and says what it is for::

    {"format": "irtool tuned 1",
     "for": {"title": "AMD Zen 4", "mcpu": ["znver4"],
             "cpuinfo": [{"vendor_id": "AuthenticAMD", "cpu family": 25, "model": [16, 31]}]},
     "machines": {"512-bit vectors": {"stages": {"8c1f…": {"choice": …, "untuned": …}}}}}

`mcpu` lists the values of `--mcpu` that mean the processor; `cpuinfo` has the numbers by which Linux tells it in /proc/cpuinfo, models
as a range with both ends. `python -m benchmarks.shipped_tables` writes the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

SHIPPED = "shipped"
"""The name of a shipped table in the place of a file's name."""


def tables() -> dict[str, dict[str, Any]]:
    """The JSON values of the files, by the names of the files."""
    table_files = sorted((f for f in files(__package__).iterdir() if f.name.endswith(".json")), key=lambda f: f.name)
    return {f.name: json.loads(f.read_text(encoding="utf-8")) for f in table_files}


def table_for(mcpu: str, numbers: Mapping[str, str]) -> dict[str, Any] | None:
    """The table for a processor by its name for compilers, or by its numbers; None if no table fits."""
    for data in tables().values():
        meant = data["for"]
        if mcpu in meant["mcpu"] or any(_fits(numbers, c) for c in meant["cpuinfo"]):
            return data
    return None


def conditions(vector_bytes: int, openmp: bool) -> str:
    """The key of a file's measurements: the width of vectors, and whether several threads ran."""
    return f"{8 * vector_bytes}-bit vectors" + (", threads" if openmp else "")


def _fits(numbers: Mapping[str, str], meant: Mapping[str, Any]) -> bool:
    low, high = meant["model"]
    model = numbers.get("model", "")
    return (
        numbers.get("vendor_id") == meant["vendor_id"]
        and numbers.get("cpu family") == str(meant["cpu family"])
        and model.isdigit()
        and low <= int(model) <= high
    )
