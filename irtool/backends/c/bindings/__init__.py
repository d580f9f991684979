"""Wrappers of the functions of `NAME.h` for other languages, one file for each: `NAME.hpp`, `NAME.f90`, `NAME.rs`."""

from __future__ import annotations

from collections.abc import Callable

from .cpp import write_cpp
from .fortran import write_fortran
from .network import BoundNetwork
from .rust import write_rust

BINDINGS: dict[str, Callable[[BoundNetwork], str]] = {"hpp": write_cpp, "f90": write_fortran, "rs": write_rust}
"""The writer of each file, by its ending."""
