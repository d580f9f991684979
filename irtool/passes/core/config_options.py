"""Every option of the pass context, and the passes that read it."""

from __future__ import annotations

from collections.abc import Iterator

from .base import Pass, passes
from .config_option import ConfigOption


def config_options() -> Iterator[tuple[str, ConfigOption, list[type[Pass]]]]:
    """Every key in alphabetical order with the passes that read it."""
    readers: dict[str, list[type[Pass]]] = {}
    for cls in dict.fromkeys(passes):
        for key in cls.config:
            readers.setdefault(key, []).append(cls)
    for key in sorted(readers):
        yield key, readers[key][0].config[key], readers[key]
