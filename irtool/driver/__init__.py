"""From a Relay module to a library that runs: passes, lowering, backend, C compiler.

build          the way from a module to an artifact
options        what was asked for, checked
parameters     weights into the entry functions
prepare        what a module goes through before it is lowered
emission       from a lowered module to all the files
report         what was made, in numbers and names
graph          the same network for the peer's graph executor
model_library  everything in one archive of the peer's format
cache          earlier builds
unsupported    what cannot be compiled, and why
"""

from .artifact import Artifact
from .build import build
from .graph import graph_json
from .unsupported import unsupported

__all__ = ["Artifact", "build", "graph_json", "unsupported"]
