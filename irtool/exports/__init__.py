"""Relay in other people's formats: `irtool export --to=FORMAT`.

base          the base of formats: a dataclass whose fields are its options, found by its name
unsupported   operators without a form in a format, gathered to report all at once
weights       arrays for parameters, in their types
mistakes      the codes of these diagnostics

Each format is a folder beside these files.
"""

from ..namespace import submodules
from .base import Export, File, Request, export, exports, parse_export

__all__ = ["Export", "File", "Request", "export", "exports", "parse_export"]

__getattr__ = submodules(__name__)
