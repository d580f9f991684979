"""An option of the pass context, as a pass that reads it declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ConfigOption:
    """One key of `PassContext.config`: the kind of its value, its default, and a sentence on it."""

    kind: Any
    default: Any = None
    meaning: str = ""

    @staticmethod
    def of(declared: Any) -> ConfigOption:
        """A declaration as passes write it: an option, or only a kind such as `int`."""
        return declared if isinstance(declared, ConfigOption) else ConfigOption(declared)

    @property
    def kind_name(self) -> str:
        """The kind in words."""
        return getattr(self.kind, "__name__", str(self.kind))
