"""From a Relay module to a library that runs: passes, lowering, backend, C compiler."""

from .artifact import Artifact
from .build import build

__all__ = ["Artifact", "build"]
