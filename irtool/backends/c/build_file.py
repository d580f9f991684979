"""Build files of the sources, to include from CMake, make or Meson, and of a library, for pkg-config."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from .banner import Origin

KINDS = ("cmake", "make", "meson", "pkg-config")
"""The build systems."""

BUILT = {"so": ".so", "obj": ".o"}
"""The ending of what a file for pkg-config links, by `emit`."""


def build_file_name(kind: str, name: str) -> str:
    """The name of the file: `NAME.cmake`, `NAME.mk`, `NAME.pc`; `meson.build`, which Meson finds by that name alone."""
    return "meson.build" if kind == "meson" else name + {"cmake": ".cmake", "make": ".mk", "pkg-config": ".pc"}[kind]


def write_build_file(
    kind: str, name: str, origin: Origin, sources: Sequence[str], weights: str = "", emit: str = "c"
) -> str:
    """The text of the file for a build system.

    Args:
        sources: names of the C sources, all beside the file.
        weights: name of the weights file, if there is one.
        emit: the output of the build: pkg-config is for libraries and object files.
    """
    about = [f"# {line}" for line in origin.lines(sources)]
    # The including build chooses the compiler; the flags, with those in the compiler's command, are ours.
    own = next((n for n, word in enumerate(origin.compiler) if word.startswith("-")), len(origin.compiler))
    flags = [*origin.compiler[own:], *origin.flags]
    if kind == "pkg-config":
        lines = _pkg_config(name, origin, weights, BUILT[emit])
    else:
        lines = {"cmake": _cmake, "make": _make, "meson": _meson}[kind](name, origin, flags, sources, weights)
    return "\n".join([*about, *lines, ""])


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


def _meson(name: str, origin: Origin, flags: Sequence[str], sources: Sequence[str], weights: str) -> list[str]:
    options = [f for f in flags if f != "-fopenmp"]
    libraries = ", ".join(_meson_word(library.removeprefix("-l")) for library in origin.libraries)
    threads = ["dependency('openmp')"] if origin.threads else []
    return [
        "#",
        f"#   subdir('path/to/folder')          # {name}_dep",
        f"#   executable('app', 'app.c', dependencies: {name}_dep)",
        "",
        f"{name}_libraries = []",
        f"foreach library : [{libraries}]",
        f"  {name}_libraries += meson.get_compiler('c').find_library(library, required: false)",
        "endforeach",
        f"{name}_lib = static_library({_meson_word(name)},",
        *(f"  {_meson_word(s)}," for s in sources),
        f"  c_args: [{', '.join(map(_meson_word, options))}],",
        *(f"  dependencies: {t}," for t in threads),
        "  pic: true,",
        ")",
        f"{name}_dep = declare_dependency(",
        f"  link_with: {name}_lib,",
        "  include_directories: include_directories('.'),",
        f"  dependencies: [{name}_libraries{', ' + threads[0] if threads else ''}],",
        ")",
        *([f"{name}_weights = meson.current_source_dir() / {_meson_word(weights)}"] if weights else []),
    ]


def _meson_word(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _pkg_config(name: str, origin: Origin, weights: str, ending: str) -> list[str]:
    """The lines for a library that stands beside the file."""
    run_path = "-Wl,-rpath,${folder} " if ending == ".so" else ""
    threads = " -fopenmp" if origin.threads else ""
    return [
        "#",
        f"#   cc app.c $(PKG_CONFIG_PATH=path/to/folder pkg-config --cflags --libs {name})",
        "",
        "folder=${pcfiledir}",
        *([f"weights=${{folder}}/{weights}"] if weights else []),
        "",
        f"Name: {name}",
        "Description: a network that irtool has compiled",
        "Version: 0",
        "Cflags: -I${folder}",
        f"Libs: {run_path}${{folder}}/{name}{ending} {' '.join(origin.libraries)}{threads}".rstrip(),
    ]
