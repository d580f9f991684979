"""Hooks that time kernels in a program compiled with `-DNAME_PROFILE`.

Macros with the names of kernels stand between the kernels and their callers, so that the text of callers is the same with and
without hooks, and the binary without the macro has nothing of them. The log that `NAME_profile_write` prints has lines of words
between tabs::

    irtool-profile  1  net
    hz      1000000000                    counts of the clock in a second; 0: unknown
    lost    0                             calls before the oldest one of the log
    kernel  0  tvmgen_net_fused_add  add  1  net.relay:3:8  sum
    event   0  123  456                   number of the kernel, begin, end
    end

A kernel has its number, function, operators and number of uses, then the place of each operator and the node of the model there, which may
be empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...tir.kernel import Kernel
from ...tir.program import RunKernel, runs_of
from .runtime import fill_runtime
from .strings import string_content

if TYPE_CHECKING:
    from .variant import Variant

_MOST_PLACES = 32
"""The most places of a kernel that its line has."""

_LONGEST = 1000
"""The most characters of a line, four times as many in C with all of them in octal: C99 requires compilers to accept 4095 in a string."""


def profile_macro(name: str) -> str:
    """The macro that turns hooks on."""
    return f"{name.upper()}_PROFILE"


def clock_requirements(name: str) -> list[str]:
    """Macros before the first header, which make it declare the clock of POSIX systems."""
    return [
        f"#if defined({profile_macro(name)}) && !defined(_POSIX_C_SOURCE)",
        "#define _POSIX_C_SOURCE 200809L /* for clock_gettime */",
        "#endif",
    ]


def define_hooks(name: str, variants: Sequence[Variant]) -> list[str]:
    """The lines between kernels and their callers: hooks around each call, and the function that prints the log. Kernels of all levels have
    numbers, in order."""
    rows: list[str] = []
    macros: list[str] = []
    has_tasks = False
    for v in variants:
        runs = runs_of(v.program)
        for kernel, writer in v.writers.items():
            number = len(rows)
            rows.append(f'  "{string_content(_row(kernel, writer.name, runs.get(kernel, [])))}\\n",')
            task = v.tasks.get(kernel)
            if task is None:
                macros.append(f"#define {writer.name}(...) irt_timed({number}u, {writer.name}(__VA_ARGS__))")
            else:
                has_tasks = True
                macros.append(f"#define irt_number_of_{task} {number}u")
    if has_tasks:  # threads share a task: the first one's time is that of all
        macros.append(
            "#define irt_share(w, task, ...) irt_timed(irt_number_of_##task, irt_share(w, task, __VA_ARGS__))"
        )
    text = fill_runtime("profile.c", name=name, upper=name.upper(), kernels="\n".join(rows))
    return [f"#ifdef {profile_macro(name)}", text.rstrip("\n"), "", *macros, "#endif", ""]


def declare_hooks(name: str) -> list[str]:
    """The lines of the header."""
    return [
        "",
        f"#ifdef {profile_macro(name)}",
        "/* Prints the log of the last calls of kernels, which `irtool profile` reads, piece by piece; clears it. Not during a run. */",
        f"void {name}_profile_write(void (*put)(void *to, const char *text), void *to);",
        f"void {name}_profile_clear(void);",
        "#endif",
    ]


def define_printing(name: str) -> list[str]:
    """The function of a program that prints the log to standard error, and the hook of `main` that calls it at the end, by name."""
    return [
        f"#ifdef {profile_macro(name)}",
        "#include <stdlib.h>",
        "static void put(void *to, const char *text) { fputs(text, (FILE *)to); }",
        f"static void print_profile(void) {{ {name}_profile_write(put, stderr); }}",
        "#endif",
        "",
    ]


def print_at_exit(name: str) -> list[str]:
    """The statements of `main` for which the function prints the log when the program ends."""
    return [f"#ifdef {profile_macro(name)}", "  atexit(print_profile);", "#endif"]


def _row(kernel: Kernel, function: str, uses: Sequence[RunKernel]) -> str:
    """The line of a kernel without its number."""
    places = [p for p in dict.fromkeys(p for use in uses for p in use.places) if p.at or p.node][:_MOST_PLACES]
    words = [function, ", ".join(kernel.operators)[:_LONGEST], str(len(uses))]
    for p in places:
        if sum(map(len, words)) + len(p.at) + len(p.node) <= _LONGEST:
            words += [p.at, p.node]
    return "".join(f"\t{_in_one_word(w)}" for w in words)


def _in_one_word(text: str) -> str:
    return "".join(" " if c in "\t\r\n" else c for c in text)
