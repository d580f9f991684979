"""Build files of the sources, to include from CMake or from make."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .banner import Origin

KINDS = {"cmake": ".cmake", "make": ".mk"}
"""The suffix of the file's name after NAME, by kind."""


def write_build_file(kind: str, name: str, origin: Origin, sources: Sequence[str], weights: str = "") -> str:
    """The text of `NAME.cmake` or `NAME.mk`.

    Args:
        sources: names of the C sources, all beside the file.
        weights: name of the weights file, if there is one.
    """
    about = [f"# {line}" for line in origin.lines(sources)]
    # The including build chooses the compiler; the flags, with those in the compiler's command, are ours.
    own = next((n for n, word in enumerate(origin.compiler) if word.startswith("-")), len(origin.compiler))
    flags = [*origin.compiler[own:], *origin.flags]
    return "\n".join([*about, *(_cmake if kind == "cmake" else _make)(name, origin, flags, sources, weights), ""])


def _cmake(name: str, origin: Origin, flags: Sequence[str], sources: Sequence[str], weights: str) -> list[str]:
    here = "${CMAKE_CURRENT_LIST_DIR}"
    options = [_cmake_word(f) for f in flags if f != "-fopenmp"]
    threads = ["-fopenmp"] if origin.threads else []
    return [
        "#",
        f"#   include(path/to/{name}.cmake)",
        f"#   target_link_libraries(app PRIVATE {name})",
        "",
        f"add_library({name} STATIC",
        *(f'  "{here}/{s}"' for s in sources),
        ")",
        f'target_include_directories({name} PUBLIC "{here}")',
        f"set_target_properties({name} PROPERTIES POSITION_INDEPENDENT_CODE ON)",
        "# Behind the flags of the build's type, so that they hold in every one.",
        f"target_compile_options({name} PRIVATE",
        *(f"  {o}" for o in [*options, *threads]),
        ")",
        f"target_link_libraries({name} PUBLIC {' '.join(origin.libraries).replace('-lm', 'm')})",
        *([f'set({name.upper()}_WEIGHTS "{here}/{weights}")'] if weights else []),
    ]


def _cmake_word(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'


def _make(name: str, origin: Origin, flags: Sequence[str], sources: Sequence[str], weights: str) -> list[str]:
    up = name.upper()
    return [
        "#",
        f"#   include path/to/{name}.mk",
        f"#   app: app.o $({up}_OBJECTS)",
        f"#   \t$(CC) -o $@ $^ $({up}_LDLIBS)          app.o needs $({up}_CPPFLAGS)",
        "",
        f"{up}_DIR := $(dir $(lastword $(MAKEFILE_LIST)))",
        f"{up}_CFLAGS := {' '.join(_make_word(f) for f in flags)}",
        f"{up}_CPPFLAGS := -I$({up}_DIR)",
        f"{up}_LDLIBS := {' '.join(origin.libraries)}",
        f"{up}_OBJECTS := {' '.join(f'$({up}_DIR){s[:-2]}.o' for s in sources)}",
        *([f"{up}_WEIGHTS := $({up}_DIR){weights}"] if weights else []),
        "",
        "# The first target of a makefile is its goal: an included file must not take that place.",
        f"{up}_GOAL := $(.DEFAULT_GOAL)",
        f"$({up}_OBJECTS): $({up}_DIR)%.o: $({up}_DIR)%.c $({up}_DIR){name}.h",
        f"\t$(CC) $(CPPFLAGS) $(CFLAGS) $({up}_CFLAGS) -c -o $@ $<",
        f".DEFAULT_GOAL := $({up}_GOAL)",
    ]


def _make_word(text: str) -> str:
    return shlex.quote(text).replace("$", "$$").replace("#", "\\#")
