"""Manuals of passes, from their classes: the list, one manual page, and the reference in `docs/passes.md`."""

from __future__ import annotations

import dataclasses

from ..diagnostics import UsageError, nearest
from ..driver.prepare import LEFT_OUT
from ..driver.stages import STAGES
from ..passes import Pass, passes
from ..passes.core.absent import REASONS, RELAY_REASONS, explain_absence
from ..passes.core.config_option import ConfigOption
from ..passes.core.config_options import config_options
from ..passes.core.mistakes import UnknownPass
from ..passes.core.option_text import show_value
from ..passes.core.pipeline import parse_pipeline
from ..passes.core.pipelines import PIPELINES
from ..passes.core.tvm_options import REASONS as INEFFECTIVE
from ..passes.instruments import instrument_options, instruments
from ..tir_passes.prim_func_pass import PrimFuncPass
from .manual import for_markdown, for_terminal
from .name_patterns import is_like
from .tables import show_table


def _kind(cls: type[Pass]) -> str:
    from ..passes import Composite, FunctionPass, ModulePass

    if issubclass(cls, PrimFuncPass):
        return "pass on loop nests"
    for base, name in ((FunctionPass, "function pass"), (ModulePass, "module pass"), (Composite, "sequence")):
        if issubclass(cls, base):
            return name
    return "pass"


def _facts(cls: type[Pass]) -> str:
    return f"{_kind(cls)}, level {cls.level}{', types may be open' if cls.takes_open_types else ''}"


def _signature(cls: type[Pass]) -> str:
    shown = []
    for f in cls.fields():
        shown.append(f.name + _default(f))
    return f"{cls.name}{{{' '.join(shown)}}}" if shown else cls.name


def _default(f: dataclasses.Field) -> str:
    return "" if f.default is dataclasses.MISSING else f"={show_value(f.default)}"


def distinct_passes(tir: bool = False) -> list[type[Pass]]:
    """Every pass on Relay once, by name (aliases left out), or on loop nests."""
    return sorted({c for c in passes if issubclass(c, PrimFuncPass) == tir}, key=lambda c: c.name.lower())


def list_like(pattern: str) -> str:
    """One line for each pass, on Relay or on loop nests, with a name like that; empty if no name is."""
    like = [c for tir in (False, True) for c in distinct_passes(tir) if is_like(c.name, pattern)]
    rows = [("pass", "level", "what it does"), *((c.name, f"{c.level:5d}", c.summary()) for c in like)]
    return show_table(rows, (43, 5)) if like else ""


def list_passes() -> str:
    """One line for each pass: name, level, summary."""
    rows = [("pass", "level", "what it does"), *((c.name, f"{c.level:5d}", c.summary()) for c in distinct_passes())]
    lines = [show_table(rows, (43, 5)), ""]
    lines.append(
        show_table([("pipeline", "description"), *((_levels(n), p.summary) for n, p in PIPELINES.items())], (50,))
    )
    lines += [
        "",
        'func("REGEX", A,B) runs passes on matching functions only. `irtool passes NAME`',
        "explains a pass, or each step of a pipeline. `--tir` lists the passes on loop",
        "nests, `--list-config` the options of the pass context, `--list-instruments` the",
        "instruments.",
    ]
    return "\n".join(lines)


def list_tir_passes() -> str:
    """One line for each pass on loop nests: name, summary."""
    rows = [("pass", "what it does"), *((c.name, c.summary()) for c in distinct_passes(tir=True))]
    lines = [show_table(rows, (max(len(name) for name, _ in rows),)), ""]
    lines.append(
        "They run on lowered functions, from the text or from FuseOps and LowerTE: --passes=FuseOps,LowerTE,tir.Simplify."
    )
    lines.append("The prefix `tir.` is optional. `irtool passes NAME` explains a pass.")
    return "\n".join(lines)


def explain_or_list(name: str) -> str:
    """The manual page of that name, or, if it is unknown, the list of the passes with similar names."""
    is_known = name.partition("<")[0] in PIPELINES or passes.find(name) is not None or name in instruments
    listed = "" if is_known or explain_absence(name) else list_like(name)
    return listed or explain(name)


def list_missing() -> str:
    """One line for each pass of TVM that is not here: name, and why."""
    rows = [("pass of TVM", "why it is not here")]
    rows += [(n, why) for why, names in RELAY_REASONS.items() for n in names]
    rows += [(f"tir.{n}", why) for why, names in REASONS.items() for n in names]
    return show_table(rows, (max(len(name) for name, _ in rows),))


def explain(name: str) -> str:
    """The manual page of a pass, of a pipeline, or of an instrument."""
    if name.partition("<")[0] not in PIPELINES and name not in passes and name in instruments:
        return explain_instrument(name)
    return explain_pass(name)


def explain_instrument(name: str) -> str:
    """The manual page of one instrument."""
    cls = instruments.get(name)
    shown = [f.name + _default(f) for f in instrument_options(cls).values()]
    head = [f"{name}{{{' '.join(shown)}}}" if shown else name]
    head[0] += "  (instrument)"
    if origin := instruments.origin_of(cls):
        head.append(origin)
    return "\n".join([*head, "", for_terminal(cls.manual())])


def list_instruments() -> str:
    """One line for each instrument: name, summary."""
    summaries = ((c.name, c.summary()) for c in instruments)
    lines = [show_table([("instrument", "what it does"), *summaries], (19,))]
    lines.append("\n--instrument NAME{option=value} adds an instrument; `irtool passes NAME` explains it.")
    return "\n".join(lines)


def list_config() -> str:
    """One line for each option of the pass context: name, kind, default, the passes that read it, and its meaning."""
    rows = [("option", "kind", "default", "read by", "meaning")]
    rows += [_config_row(*option_facts) for option_facts in config_options()]
    rows += _ineffective()
    return show_table(rows, [max(len(r[i]) for r in rows) for i in range(4)])


def _ineffective() -> list[tuple[str, str, str, str, str]]:
    """Rows on the options of TVM's that are taken and have no effect."""
    read = {key for key, _, _ in config_options()}
    rows = [(k, kind.__name__, why) for why, keys in INEFFECTIVE.items() for k, kind in keys.items() if k not in read]
    return [(key, kind, "—", "—", f"no effect: {why}") for key, kind, why in sorted(rows)]


def _config_row(key: str, option: ConfigOption, readers: list[type[Pass]]) -> tuple[str, str, str, str, str]:
    default = "—" if option.default is None else show_value(option.default)
    return key, option.kind_name, default, ", ".join(c.name for c in readers), option.meaning


def explain_pass(name: str) -> str:
    """The manual page of one pass, or of a pipeline (`vm`, `vm<O3>`). Raises UsageError for any other name."""
    title, angle, _ = name.partition("<")
    if title in PIPELINES:
        return explain_pipeline(title)
    if angle:
        raise UsageError(f"unknown pipeline {title}", help=nearest(title, PIPELINES), code=UnknownPass)
    cls = passes.find(name)
    if cls is None:
        help = explain_absence(name) or nearest(name, [*passes.names(), *PIPELINES])
        raise UsageError(f"unknown pass {name}", help=help, code=UnknownPass)
    head = [f"{_signature(cls)}  ({_facts(cls)})"]
    if origin := passes.origin_of(cls):
        head.append(origin)
    if cls.info_name and cls.info_name != cls.name:
        head.append(f"also known as {cls.info_name}")
    always, sequenced = _prerequisites(cls)
    if always:
        head.append(f"runs before it: {always}")
    if sequenced:
        head.append(f"runs before it in a Sequential: {sequenced}")
    if cls.config:
        head.append(f"reads --pass-config {', '.join(cls.config)}")
    return "\n".join(head) + "\n\n" + for_terminal(cls.manual())


_STAGES = "Then it runs the stages from Relay to code, which `--print-before` and `--print-after` accept as well:"
_LEAVES_OUT = "`irtool build` and `irtool run` skip these unless {} names them:"


def explain_pipeline(name: str) -> str:
    """Each pass of a pipeline with its options, its level and the reason for its place."""
    lines = [f"{_levels(name)}: {PIPELINES[name].summary}", ""]
    for text, reason in PIPELINES[name].rows:
        p = parse_pipeline(text)[0]
        lines.append(f"  {p.level}  {p.text():60s} {reason}")
    lines.append(
        "\nThe number is the lowest level at which the pass runs; --disable-pass and --require-pass override it."
    )
    if name == "build":
        lines += ["", _LEAVES_OUT.format("--require-pass")]
        lines += [f"  {left_out:28s} {reason}" for left_out, reason in LEFT_OUT.items()]
        lines += ["", _STAGES]
        lines += [f"  {s.name:28s} {s.reason}" for s in STAGES]
    return "\n".join(lines)


def _levels(name: str) -> str:
    return f"{name}<O0> … {name}<O4>"


def reference() -> str:
    """The text of `docs/passes.md`."""
    out = [
        "# Passes",
        "",
        "Generated from the classes of the passes (`python -m irtool.commands.references`); a test keeps it fresh.",
        "Passes on loop nests have [a page of their own](tir-passes.md).",
    ]
    for name in ("build", "default", "vm"):
        out += ["", f"## The pipeline {name}", "", f"`{_levels(name)}` · {PIPELINES[name].summary}", ""]
        out += ["| pass | reason for its place |", "| --- | --- |"]
        out += [f"| `{text}` | {reason} |" for text, reason in PIPELINES[name].rows]
        if name == "build":
            out += ["", _LEAVES_OUT.format("`--require-pass`"), ""]
            out += [f"- `{left_out}`: {reason}" for left_out, reason in LEFT_OUT.items()]
    out += ["", "## Other pipelines", "", "| pipeline | description |", "| --- | --- |"]
    out += [f"| `{_levels(n)}` | {p.summary} |" for n, p in PIPELINES.items() if n not in ("build", "default", "vm")]
    out += ["", "## Options of the pass context", "", "| option | kind | default | read by | meaning |"]
    out += ["| --- | --- | --- | --- | --- |"]
    for key, kind, default, readers, meaning in (_config_row(*option_facts) for option_facts in config_options()):
        out.append(f"| `{key}` | {kind} | {default} | {readers} | {meaning} |")
    out += ["| " + " | ".join((f"`{key}`", *rest)) + " |" for key, *rest in _ineffective()]
    out += ["", "## Instruments", "", "| instrument | effect |", "| --- | --- |"]
    out += [f"| `{c.name}` | {c.manual().split(chr(10) * 2)[0].replace(chr(10), ' ')} |" for c in instruments]
    for cls in distinct_passes():
        out += _section(cls)
    return "\n".join(out) + "\n"


def _prerequisites(cls: type[Pass]) -> tuple[str, str]:
    """Prerequisites that always run before a pass, and those that only a `Sequential` runs, as in TVM."""
    always = [name for name in cls.required if name == "InferType"]
    return ", ".join(always), ", ".join(name for name in cls.required if name not in always)


def _section(cls: type[Pass]) -> list[str]:
    out = ["", f"## {cls.name}", "", f"`{_signature(cls)}` · {_facts(cls)}"]
    always, sequenced = _prerequisites(cls)
    if always:
        out[-1] += f", runs after {always}"
    if sequenced:
        out[-1] += f", in a `Sequential` after {sequenced}"
    return [*out, "", for_markdown(cls.manual())]


def tir_reference() -> str:
    """The text of `docs/tir-passes.md`."""
    out = [
        "# Passes on loop nests",
        "",
        "Generated from the classes of the passes (`python -m irtool.commands.references`); a test keeps it fresh.",
        "",
        "`LowerTE` lowers fused functions to loop nests; texts may also contain nests (`@name = primfn(…)`). These passes transform",
        "nests and leave Relay functions alone. They have their names from TVM's `tir.transform`; the prefix `tir.` is optional. They",
        "are used like other passes, in `--passes` and in Python:",
        "",
        "```sh",
        "irtool opt --passes=FuseOps,LowerTE net.relay | irtool opt --check-values --passes=tir.Simplify,tir.StorageRewrite",
        "irtool opt --passes='LoopPartition{partition_const_loop=True},RemoveNoOp' lowered.relay | irtool build -",
        "```",
        "",
        "`irtool build` compiles the resulting nests unchanged; `irtool run` runs them.",
    ]
    for cls in distinct_passes(tir=True):
        out += _section(cls)
    out += ["", "## Passes of TVM that are not here", ""]
    out += ["The other passes of TVM 0.10's `tir.transform` have nothing to do in the loop nests of processors.", ""]
    out += [f"- {', '.join(f'`{n}`' for n in names)}: {why}." for why, names in REASONS.items()]
    return "\n".join(out) + "\n"
