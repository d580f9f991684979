"""The one shape of everything that can be added to irtool: operators, passes, instruments, backends.

A plug-in is a dataclass. Its fields are its attributes (of an operator) or its options (of a pass, of an instrument) or its flags (of a backend); its
docstring is its manual; `Name{field=value other=[1, 2]}` is its text form.

base       the base class of plug-ins
registry   plug-ins of one kind by name
index      irtool's own, known without importing them
listing    names and summaries of all
codes      kinds of mistakes, which diagnostics are marked with
origin     where a plug-in comes from: irtool or outside
loading    named files and installed plug-ins
mistakes   errors of plug-ins, reported as theirs
"""

from .base import Plugin, type_hints
from .codes import code
from .loading import load_plugins
from .mistakes import PluginError
from .registry import Registry

__all__ = ["Plugin", "PluginError", "Registry", "code", "load_plugins", "type_hints"]
