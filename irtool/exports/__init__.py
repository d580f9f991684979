"""Relay in other people's formats: `irtool export --to=FORMAT`.

base          what a format is: a dataclass whose fields are its options, found by its name
unsupported   what a format has no form for, gathered so that all of it is said at once
weights       arrays for parameters, as these have them
mistakes      the codes of these diagnostics

Each format is a folder beside these files.
"""

from ..namespace import submodules
from .base import Export, File, Request, export, exports, parse_export

__all__ = ["Export", "File", "Request", "export", "exports", "parse_export"]

__getattr__ = submodules(__name__)
