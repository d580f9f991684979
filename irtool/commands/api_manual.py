"""The reference of the Python API, `docs/python-api.md`: the names of `irtool.__all__`, from signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import irtool

from .manual import for_markdown

_WIDTH = 110
_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Class attributes):$")
_ENTRY = re.compile(r"^(?P<name>[\w, ]+): (?P<text>.*)$")
_ALIASES = {"IRModule": "Module"}


def reference() -> str:
    """The text of `docs/python-api.md`."""
    out = [
        "# Python API",
        "",
        "Generated from signatures and docstrings (`python -m irtool.commands.references`); a test keeps it fresh.",
        "What is here is public, and imported on first use: `import irtool` costs nothing. Commands: [commands.md](commands.md).",
        "",
    ]
    for name in irtool.__all__:
        if name in _ALIASES:
            out += [f"## {name}", "", f"The same as `{_ALIASES[name]}`, by TVM's name.", ""]
        elif callable(value := getattr(irtool, name)):
            out += [f"## {name}", "", *_section(name, value)]
    return "\n".join(out).rstrip() + "\n"


def _section(name: str, value: Any) -> list[str]:
    out = [*_signature(f"irtool.{name}", value), *_prose(value)]
    if inspect.isclass(value):
        for member, member_value in _members(value):
            if isinstance(member_value, property):
                out += [f"### {name}.{member}", "", "Property. " + "\n".join(_prose(member_value)).lstrip()]
            else:
                out += [
                    f"### {name}.{member}",
                    "",
                    *_signature(f"{name}.{member}", member_value),
                    *_prose(member_value),
                ]
    return out


def _members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public properties and methods that have a docstring, in the order of the class, then of those that it is made from."""
    seen: set[str] = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("irtool"):
            continue
        for name, raw in vars(base).items():
            function = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
            if (
                (name.startswith("_") and name != "__call__")
                or name in seen
                or not (isinstance(function, property) or inspect.isroutine(function))
            ):
                continue
            seen.add(name)
            if inspect.getdoc(function):
                yield name, function


def _signature(name: str, value: Callable[..., Any]) -> list[str]:
    """A call with the parameters and the type of its result, as a block of code."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return []
    signature = inspect.signature(value)
    parameters = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    result = "" if signature.return_annotation is inspect.Signature.empty else f" -> {signature.return_annotation}"
    if inspect.isclass(value):
        result = ""
    shown = [_parameter(p) for p in parameters]
    for i, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY:
            shown.insert(i, "*")
            break
    line = f"{name}({', '.join(shown)}){result}"
    if len(line) > _WIDTH:
        line = f"{name}(\n" + "".join(f"    {s},\n" for s in shown) + f"){result}"
    return ["```python", line, "```", ""]


def _parameter(p: inspect.Parameter) -> str:
    """`name: type = default`; a default that has no text of its own is `…`, as its address would differ in each run."""
    text = p.name if p.annotation is p.empty else f"{p.name}: {p.annotation}"
    if p.default is p.empty:
        return text
    default = repr(p.default)
    return f"{text} = {'…' if ' at 0x' in default or default.startswith('<') else default}"


def _prose(value: Any) -> list[str]:
    """A docstring as Markdown: its sections with indented entries are lists."""
    out: list[str] = []
    section = False
    for line in for_markdown(inspect.getdoc(value) or "").splitlines():
        if _SECTION.match(line):
            section = True
            out += [*([""] if out and out[-1] else []), f"**{line.removesuffix(':')}**", ""]
        elif section and line.startswith("    "):
            entry = None if line.startswith("     ") else _ENTRY.match(line[4:])
            out.append(f"- `{entry['name']}`: {entry['text']}" if entry is not None else f"  {line.strip()}")
        else:
            section = section and not line.strip()
            out.append(line)
    return [*out, ""]
