"""`tvm.runtime`: loading a saved build."""

from __future__ import annotations

from ...driver.loading import load as load_module
from .nd import NDArray

__all__ = ["NDArray", "load_module"]
