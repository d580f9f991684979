"""`tvm.target`: targets by name."""

from __future__ import annotations

from typing import Any

from ...ir.target import Target

__all__ = ["Target", "arm_cpu", "create", "cuda"]


def create(target: Any) -> Target:
    """A target of a text or a dictionary."""
    return Target(target)


def cuda(model: str = "", arch: str = "") -> Target:
    """A target to lower and print for; builds are for processors."""
    return Target("cuda" + (f" -model={model}" if model else "") + (f" -arch={arch}" if arch else ""))


def arm_cpu(model: str = "") -> Target:
    """A processor of ARM's architecture."""
    return Target("llvm -keys=arm_cpu,cpu" + (f" -model={model}" if model else ""))
