"""The first line of a reduced module: the command that reproduces the bug."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..reduction import Case
    from .pass_options import PassChoice


def run_line(case: Case, expected: Any, chosen: PassChoice, level: int | None) -> str:
    """`// RUN: irtool opt …`, or `run` where results of a backend are compared, or `build`."""
    from ..passes.core.option_text import show_value

    way = expected.via
    parts = ["irtool"]
    if way == "interp":
        parts += ["opt", f"--opt-level={case.context['opt_level']}", *(["--check-values"] if expected.diff else [])]
        parts += [f"--target={case.context['target']}"] if case.context["target"] else []
    else:
        parts += ["run", f"--compare=interp,{way}"] if expected.diff else ["run", f"--via={way}"]
        parts += ["--entry", expected.entry] if expected.entry != "main" else []
        parts += [f"-O{level}"] if level is not None else []
    parts += [f"--load={path}" for path in chosen.load]
    parts += [f"--passes={','.join(case.passes)}"] if case.passes else []
    parts += [f"--require-pass={name}" for name in chosen.required_pass]
    parts += [f"--disable-pass={name}" for name in chosen.disabled_pass]
    parts += [f"--pass-config={key}={show_value(value)}" for key, value in chosen.config]
    parts += [f"--instrument={text}" for text in chosen.instrument_texts]
    return f"// RUN: {shlex.join(w.replace('%', '%%') for w in parts)} %s\n"
