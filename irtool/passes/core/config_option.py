"""Options of the pass context, as the passes that read them declare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .registry import passes

if TYPE_CHECKING:
    from .base import Pass


@dataclass(frozen=True)
class ConfigOption:
    """One key of `PassContext.config`: the kind of its value, what holds where it is not given, and a sentence on it."""

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


def config_options() -> Iterator[tuple[str, ConfigOption, list[type[Pass]]]]:
    """Every key in alphabetical order with the passes that read it."""
    readers: dict[str, list[type[Pass]]] = {}
    for cls in dict.fromkeys(passes):
        for key in cls.config:
            readers.setdefault(key, []).append(cls)
    for key in sorted(readers):
        yield key, readers[key][0].config[key], readers[key]
