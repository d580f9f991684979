"""The registry of passes: names, found where the classes are defined."""

from __future__ import annotations

from typing import Any

from ...plugin import Registry

TVM_PREFIXES = (
    "relay._transform.",
    "relay.transform.",
    "relax.transform.",
    "tir.transform.",
    "transform.",
)
"""Under which TVM registers its passes."""

passes: Registry[type[Any]] = Registry(
    "pass", "irtool.passes", "irtool.tir_passes", "irtool.lower.passes", prefixes=TVM_PREFIXES
)
"""Every pass by name: those on Relay alone, and those that lower it. `base.passes` is the same with the type of passes."""
