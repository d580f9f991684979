"""The text form of pipelines: `SimplifyInference,FuseOps{fuse_opt_level=2},func("^main$", FastMath),default<O3>`.

pipeline := item ("," item)*
item     := NAME options? | "func" "(" regexes "," pipeline ")" | PIPELINE "<" "O" DIGIT ">"
regexes  := STRING | "[" STRING ("," STRING)* "]"
options  := "{" (KEY "=" value)* "}"          (commas between options are allowed)
value    := number | "string" | word | True | False | None | [value, …] | {value: value, …}
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from ...diagnostics import Source, Span, UsageError, nearest
from ...ir import Module
from ..apply_pass_to_function import ApplyPassToFunction
from .base import Composite, Pass, PassList, passes
from .context import PassContext, PassInfo
from .mistakes import MalformedPipeline, UnknownPass
from .pipelines import PIPELINES

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<number>[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?(?![\w.]))
      | (?P<word>[A-Za-z_][\w.\-/]*)
      | (?P<mark>[{}\[\]()<>=,:])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)
_CONSTANTS = {"True": True, "true": True, "False": False, "false": False, "None": None, "none": None, "null": None}
_DEEPEST = 64
"""Nesting allowed in a pipeline: far beyond any use, and within Python's own stack."""


class _Reader:
    def __init__(self, text: str, what: str = "pipeline") -> None:
        self.source = Source("<passes>" if what == "pipeline" else f"<{what}>", text)
        self.what = what
        self.text = text
        self.at = self.ended = 0
        self.depth = 0
        self.kind = self.token = ""
        self.start = 0
        self.step()

    def step(self) -> str:
        """Moves to the next token; returns the one left behind."""
        old, self.ended = self.token, self.at
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            self.start = self.at + len(self.text[self.at :]) - len(self.text[self.at :].lstrip())
            self.token = self.text[self.start]
            self.fail(f"unexpected {self.token!r}")
        self.kind = match.lastgroup or ""
        self.token = match[self.kind]
        self.start = match.start(self.kind)
        self.at = match.end()
        return old

    def fail(self, message: str, **extra: Any) -> NoReturn:
        span = Span(self.source, self.start, self.start + max(1, len(self.token)))
        raise UsageError(f"in the {self.what}: {message}", span, **extra, code=MalformedPipeline)

    def expect(self, mark: str) -> None:
        if self.token != mark or self.kind == "string":
            actual = f"found {self.token!r}" if self.token else "the text ends here"
            self.fail(f"expected {mark!r}; {actual}")
        self.step()

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail("nested too deeply")

    def pipeline(self, closing: str) -> list[Pass]:
        items = [self.item()]
        while self.token == ",":
            self.step()
            if self.kind == "end" or self.token == closing:
                break
            items.append(self.item())
        return items

    def item(self) -> Pass:
        if self.kind != "word":
            self.fail("expected the name of a pass" + (f"; found {self.token!r}" if self.token else ""))
        start, name = self.start, self.step()
        if name == "func" and self.token == "(":
            return _written(self.func(), Span(self.source, start, self.ended))
        if self.token == "<":
            return _written(self.named(name, start), Span(self.source, start, self.ended))
        cls = passes.find(name)
        if cls is None:
            span = Span(self.source, start, start + len(name))
            if name in PIPELINES:
                raise UsageError(f"the pipeline {name} needs a level", span, help=f"write {name}<O3>")
            from .absent import explain_absence

            levelled = [f"{n}<O3>" for n in PIPELINES]
            help = explain_absence(name) or nearest(name, [*passes.names(), *levelled])
            if self.token == "=" and (before := pass_before_option(name)):
                help = quote_braces(before, name[len(before) :])
            raise UsageError(f"unknown pass {name}", span, help=help, code=UnknownPass)
        options = self.options() if self.token == "{" else {}
        span = Span(self.source, start, self.ended)
        try:
            instance = cls.make(options)
        except UsageError as error:
            error.place(span)
            raise
        return _written(instance if not isinstance(instance, list) else PassList(tuple(instance)), span)

    def func(self) -> Pass:
        self.deeper()
        self.expect("(")
        regex = self.regexes()
        self.expect(",")
        inner = self.pipeline(")")
        self.expect(")")
        self.depth -= 1
        one = inner[0] if len(inner) == 1 else PassList(tuple(inner))
        return ApplyPassToFunction(one, regex)

    def regexes(self) -> str | tuple[str, ...]:
        start = self.start, self.token
        value = self.value() if self.kind == "string" or self.token == "[" else None
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
            return tuple(value)
        self.start, self.token = start
        self.fail("func(…) takes a regular expression in quotes first, or several in brackets")

    def named(self, name: str, start: int) -> Pass:
        if name not in PIPELINES:
            span = Span(self.source, start, start + len(name))
            raise UsageError(f"unknown pipeline {name}", span, help=nearest(name, PIPELINES), code=UnknownPass)
        self.expect("<")
        match = re.fullmatch(r"O([0-4])", self.token)
        if match is None:
            self.fail("expected a level from O0 to O4")
        self.step()
        self.expect(">")
        return Pipeline(name, int(match[1]))

    def options(self) -> dict[str, Any]:
        self.expect("{")
        values: dict[str, Any] = {}
        while self.token != "}":
            if self.kind != "word":
                self.fail("expected an option as name=value")
            key = self.step()
            if key in values:
                self.fail(f"option {key} is given twice")
            self.expect("=")
            values[key] = self.value()
            if self.token == ",":
                self.step()
        self.step()
        return values

    def value(self) -> Any:
        if self.kind == "string":
            text = self.step()
            inner = text[1:-1]
            # A backslash stands for itself unless it escapes a quote or itself: regular expressions stay readable.
            return re.sub(r"\\([\"'\\])", r"\1", inner)
        if self.kind == "number":
            text = self.step()
            return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
        if self.kind == "word":
            word = self.step()
            return _CONSTANTS.get(word, word)
        if self.token == "[":
            return self.items("[", "]")
        if self.token == "{":
            return self.mapping()
        self.fail("expected a value")

    def items(self, opening: str, closing: str) -> list[Any]:
        self.deeper()
        self.expect(opening)
        values = []
        while self.token != closing:
            values.append(self.value())
            if self.token != closing:
                self.expect(",")
        self.step()
        self.depth -= 1
        return values

    def mapping(self) -> dict[Any, Any]:
        self.deeper()
        self.expect("{")
        values: dict[Any, Any] = {}
        while self.token != "}":
            key = self.value()
            self.expect(":")
            values[key] = self.value()
            if self.token != "}":
                self.expect(",")
        self.step()
        self.depth -= 1
        return values


def pass_before_option(word: str) -> str:
    """The pass in a word such as `FuseOpsfuse_opt_level`, left by a shell that expanded the braces of
    `FuseOps{fuse_opt_level=1,…}`; empty for another word."""
    for n in range(len(word) - 1, 2, -1):
        if word[n].islower() and (cls := passes.find(word[:n])) is not None:
            return word[:n] if word[n:] in [f.name for f in cls.fields()] or not cls.fields() else ""
    return ""


def quote_braces(name: str, option: str) -> str:
    """The correct spelling of such a word."""
    return f"shells take braces away that are not quoted: write --passes='{name}{{{option}=…}}'"


def parse_pipeline(text: str) -> list[Pass]:
    """The passes that a pipeline text names. Raises UsageError, with a caret, if it cannot be read."""
    reader = _Reader(text)
    if reader.kind == "end":
        return []
    result = reader.pipeline("")
    if reader.kind != "end":
        reader.fail(f"unexpected {reader.token!r}")
    return result


def parse_value(text: str) -> Any:
    """One value as in the options of a pass (`3`, `True`, `[1, 2]`, `word`)."""
    reader = _Reader(text)
    value = reader.value()
    if reader.kind != "end":
        reader.fail(f"unexpected {reader.token!r}")
    return value


def parse_call(text: str, what: str = "instrument") -> tuple[str, dict[str, Any]]:
    """A name and its options out of `NAME` or `NAME{option=value …}`; `what` names the kind of thing in messages."""
    reader = _Reader(text, what)
    if reader.kind != "word":
        reader.fail("expected a name")
    name = reader.step()
    options = reader.options() if reader.token == "{" else {}
    if reader.kind != "end":
        reader.fail(f"unexpected {reader.token!r}")
    return name, options


def _written(p: Pass, span: Span) -> Pass:
    """The pass with its place in the text, for errors in its options."""
    object.__setattr__(p, "written", span)
    return p


@dataclass(frozen=True)
class Pipeline(Composite):
    """`default<O0>` … `default<O4>`, `vm<O3>`, …: a named pipeline at that level, with any level of the context."""

    title: str = "default"
    opt_level: int = 2
    name: ClassVar[str] = "pipeline"

    @property
    def info(self) -> PassInfo:
        return PassInfo(0, self.title)

    def text(self) -> str:
        return f"{self.title}<O{self.opt_level}>"

    def passes(self) -> Sequence[Pass]:
        return [p for text, _ in PIPELINES[self.title].rows for p in parse_pipeline(text)]

    def apply(self, module: Module, context: PassContext) -> Module:
        return PassList(tuple(self.passes())).apply(module, context.derived(opt_level=self.opt_level))
