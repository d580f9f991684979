"""The registry of passes: names, found where the classes are defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..plugin import Registry

if TYPE_CHECKING:
    from .base import Pass

passes: Registry[type[Pass]] = Registry("pass", "irtool.passes", "irtool.lower.passes")
"""Every pass by name: those on Relay alone, and those that lower it."""
