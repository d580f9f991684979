"""Results of the models of each package: a file per package, so that an interruption loses at most the model being tried."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import benchmarks.__main__ as benchmarks

from ..json_file import read_json, write_json
from .packages import Package

Result = dict[str, Any]
ABSENT = "-"
"""The name under which a package without models has its error."""
_SETTING = ("processor", "onnx", "onnxruntime")


class Record:
    """The results of one package, in `FOLDER/NAME-VERSION.json`; another version of the package has another record."""

    def __init__(self, folder: Path, package: Package) -> None:
        self.package = package
        self._path = folder / f"{package.name}-{package.version}.json"
        known = read_json(self._path)
        self.models: dict[str, Result] = known.get("models", {})
        self.settings: list[dict[str, str]] = known.get("settings", [])
        """Each processor, with versions, that a model was tried on."""

    def add(self, model: str, result: Result) -> None:
        """Keeps the result of a model, in the file too."""
        self.models[model] = result
        if (here := setting()) not in self.settings:
            self.settings.append(here)
        write_json(self._path, {"models": self.models, "settings": self.settings})

    def keep(self, models: set[str]) -> None:
        """Forgets what the package no longer has, or that it could not be downloaded."""
        self.models = {name: result for name, result in self.models.items() if name in models}


def setting() -> dict[str, str]:
    """The processor and the versions that results depend on."""
    values = benchmarks.processor(), version("onnx"), version("onnxruntime")
    return dict(zip(_SETTING, values, strict=True))


def is_right(result: Result) -> bool:
    return bool(result.get("right"))


def answers(result: Result) -> bool:
    """True if every command answered on the model."""
    return bool(result["commands"]) and not any(result["commands"].values())


def verdict(result: Result) -> str:
    """`right`, `differs` or `refused`, or the error of a model that could not be compared."""
    if "difference" in result:
        return "right" if is_right(result) else "differs"
    return "refused" if result["error"].startswith(REFUSED) else "not compared"


REFUSED = "build: "
"""Beginning of the error of a model that `irtool build` refuses."""
