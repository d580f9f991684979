"""Manuals of operators, from their classes: the list, one manual page, and the reference in `docs/ops.md`."""

from __future__ import annotations

import dataclasses
import re
import sys

from ..ops import Operator, operators
from ..ops.cases import cases_of
from ..passes.core.option_text import show_value
from ..plugin import type_hints
from .manual import for_markdown, for_terminal
from .name_patterns import is_like
from .operator_facts import RULE, facts_of, lacks
from .tables import drawer, show_table

FIRST = Operator.since
"""The version that stands for all versions before the first later one."""


def _kind(hint: object) -> str:
    name = getattr(hint, "__name__", None) if not hasattr(hint, "__args__") else None
    return name or re.sub(r"\b(typing|irtool)\.([a-z_]+\.)*", "", str(hint))


def _attributes(cls: type[Operator]) -> list[tuple[str, str, str]]:
    """Name, kind and default of each attribute; a default is followed by the versions that know the attribute, if not all."""
    hints = type_hints(cls)
    rows = []
    for f in cls.fields():
        default = "required" if f.default is dataclasses.MISSING else show_value(f.default)
        details = [default, *(f"{word} {f.metadata[word]}" for word in ("since", "until") if word in f.metadata)]
        rows.append((f.name, _kind(hints[f.name]), ", ".join(details)))
    return rows


def _versions(cls: type[Operator]) -> str:
    """`since 0.12`, `until 0.11`, or both; empty for an operator that all versions from 0.10 on have."""
    versions = [f"since {cls.since}"] if cls.since != FIRST else []
    return ", ".join([*versions, *([f"until {cls.until}"] if cls.until else [])])


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _is_news(cls: type[Operator], version: str) -> bool:
    """True if the operator, or one of its attributes, came with that version or a later one."""
    came = [cls.since, *(f.metadata["since"] for f in cls.fields() if "since" in f.metadata)]
    return max(map(_number, came)) >= _number(version)


def _supports(cls: type[Operator]) -> list[str]:
    """The meanings that the operator has."""
    have = []
    for method, label in (("relate", "types"), ("evaluate", "interpreter"), ("compute", "C")):
        if getattr(cls, method) is not getattr(Operator, method):
            have.append(label)
    return have


def _pattern(cls: type[Operator]) -> str:
    return cls.pattern.name.lower().replace("_", "-") if cls.pattern is not None else "opaque (none registered)"


def list_operators(since: str | None = None, pattern: str | None = None) -> str:
    """One line for each operator: name, version of TVM, pattern, summary.

    With `since` only those that came, or gained an attribute, with that version ("0.12") or a later one; with `pattern` only those with
    names like that.
    """
    rows = [("operator", "TVM", "pattern", "description")]
    for cls in operators:
        if pattern is not None and not is_like(cls.name, pattern):
            continue
        if since is None or _is_news(cls, since):
            versions = _versions(cls).replace("since ", "≥ ").replace("until ", "≤ ")
            rows.append((cls.name, versions, _pattern(cls).split(" ")[0], cls.summary()))
    return show_table(rows, (51, 11, 21))


def explain_operator(name: str) -> str:
    """The manual page of one operator."""
    cls = operators.get(name)
    origin = operators.origin_of(cls)
    out = [*_calls(cls), *([origin] if origin else []), "", for_terminal(cls.manual()), ""]
    rows = _attributes(cls)
    if rows:
        draw = drawer(sys.stdout)
        if draw is not None:
            out += [draw([("attribute", "kind", "default"), *rows]), ""]
        else:
            wide = max(len(r[0]) for r in rows)
            out += ["attributes:", *[f"  {n:{wide}s}  {kind}  ({default})" for n, kind, default in rows], ""]
    rule = cls.explain_rule().splitlines()
    out += ["type rule:", *["  " + line for line in rule or ["undocumented"]], ""]
    out.append(f"fusion pattern: {_pattern(cls)}" + (", stateful" if cls.stateful else ""))
    out.append(f"support level: {cls.support_level}; supported by: {', '.join(_supports(cls)) or 'nothing yet'}")
    if cases := cases_of(cls):
        more = (
            [f"  … and {len(cases) - _SHOWN} more in {cases[-1].place.rpartition(':')[0]}"]
            if len(cases) > _SHOWN
            else []
        )
        out += ["cases:", *(f"  {case.line}" for case in cases[:_SHOWN]), *more]
    known = [f"  {fact}: {value}" for fact, value in facts_of(cls).items() if value]
    out += ["known to passes:", *(known or ["  its class only"])]
    if missing := lacks(cls):
        out.append(f"still lacks: {', '.join(missing)}")
    if cls.vendor:
        out.append(f"an operator of {cls.vendor}: parsed, checked and printed, but not run or built")
    if _versions(cls):
        out.append(f"in TVM {_versions(cls)}")
    return "\n".join(out)


_SHOWN = 3
"""Cases on a manual page."""


def _calls(cls: type[Operator]) -> list[str]:
    """Calls of the operator, with each list of arguments that it may have."""
    lists = [", ".join(names) for names in (cls.arguments, *cls.later_arguments)]
    return [f"{cls.name}({names}{', …' if cls.variadic and names else '…' if cls.variadic else ''})" for names in lists]


def facts_reference() -> str:
    """The text of `docs/operators.md`."""
    wanting: dict[str, int] = {}
    rows = []
    for cls in operators:
        facts, missing = facts_of(cls), lacks(cls)
        for what in missing:
            wanting[what] = wanting.get(what, 0) + 1
        cells = [facts["gradient"], facts["layout"], facts["precision"], facts["quantized"]]
        cells = [c.replace(RULE, "rule").replace("the operator itself", "same") for c in cells]
        rows.append(f"| `{cls.name}` | {' | '.join(cells)} | {', '.join(missing)} |")
    lines = [f"- {what}: {count} of {len(rows)}" for what, count in wanting.items()]
    return "\n".join([*_FACTS_HEAD, *lines, "", *_FACTS_COLUMNS, *rows, ""])


_FACTS_HEAD = (
    "# Operator facts used by passes",
    "",
    "Generated from the classes of the operators and the rules of passes (`python -m irtool.commands.references`); a test keeps it",
    "fresh. `irtool ops NAME` prints the facts of one operator; [extending.md](extending.md) explains how to add a fact or a rule.",
    "",
    "`rule`: a rule is registered for the operator. Other entries are facts stated by its class, family or pattern: a shared",
    "layout rule, a precision class, `same` if the operator is its own integer form, `none` and the reason why there is no gradient.",
    "",
    "Gaps, a list that may only shrink (`tests/ops/lacking.txt`). An operator without a gradient cannot be differentiated;",
    "one without a layout rule keeps its layout when its neighbours change theirs; ToMixedPrecision warns about one without a",
    "precision class.",
    "",
)
_LONGEST = 240
"""Characters of an operator's case as an example, on two lines."""

_FACTS_COLUMNS = (
    "| operator | gradient | layout | precision | quantized | lacks |",
    "| --- | --- | --- | --- | --- | --- |",
)


def _example(cls: type[Operator]) -> list[str]:
    """A case of an operator that says the result's type: the first that fits a line, or the shortest."""
    cases = [c for c in cases_of(cls) if not c.refusal]
    if not cases:
        return []
    lines = [c.line for c in cases if c.type] or [c.line for c in cases]
    line = next((x for x in lines if len(x) <= _LONGEST), min(lines, key=len))
    arguments, _, called = line.rpartition(" | ")
    return ["```", *([arguments] if arguments else []), called, "```", ""]


def reference() -> str:
    """The text of `docs/ops.md`."""
    out = [
        "# Operators",
        "",
        "Generated from the classes of the operators (`python -m irtool.commands.references`); a test keeps it fresh.",
        "Below the rule for types and shapes is one of the operator's cases, which tests run: arguments, then the call and its",
        "result. `irtool ops NAME` shows more of them.",
        "",
    ]
    for cls in operators:
        out += [f"## {cls.name}", "", *_section(cls)]
    return "\n".join(out)


def markdown_of(name: str) -> str:
    """The manual of one operator in Markdown; the empty string for another name."""
    cls = operators.find(name)
    return "\n".join([f"### {cls.name}", "", *_section(cls)]) if cls is not None else ""


def _section(cls: type[Operator]) -> list[str]:
    facts = [
        *(f"`{c}`" for c in _calls(cls)),
        _pattern(cls),
        f"level {cls.support_level}",
        ", ".join(_supports(cls)),
    ]
    facts += [f"TVM {_versions(cls)}"] if _versions(cls) else []
    out = [" · ".join(facts), "", for_markdown(cls.manual()), "", "Type rule: " + cls.explain_rule(), ""]
    out += _example(cls)
    rows = _attributes(cls)
    if rows:
        out += ["| attribute | kind | default |", "| --- | --- | --- |"]
        out += [f"| `{n}` | {kind.replace('|', 'or')} | `{d}` |" for n, kind, d in rows] + [""]
    return out
