"""What an editor makes of a TextMate grammar: the leftmost match of a line, and of two the one that the grammar has first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Part = tuple[str, str]
"""A piece of text and its innermost scope, empty for none."""


class Grammar:
    """The part of TextMate grammars that `relay.tmLanguage.json` uses: match, begin and end, captures, include."""

    def __init__(self, grammar: dict[str, Any]) -> None:
        self.repository = grammar["repository"]
        self.top = {"patterns": grammar["patterns"]}

    def _rules(self, patterns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for p in patterns:
            if "include" in p:
                yield from self._rules([self.repository[p["include"].removeprefix("#")]])
            elif "match" in p or "begin" in p:
                yield p
            else:
                yield from self._rules(p["patterns"])

    def parts(self, text: str) -> Iterator[Part]:
        """The pieces of a text, line by line."""
        stack = [self.top]
        for line in text.splitlines(keepends=True):
            offset, whole = 0, line.rstrip("\n")
            while offset <= len(whole):
                part = self._next(stack[-1], whole, offset)
                if part is None:
                    break
                match, rule, ends = part
                if match.start() > offset:
                    yield whole[offset : match.start()], stack[-1].get("name", "")
                if ends:
                    yield match[0], stack.pop().get("name", "")
                elif "begin" in rule:
                    yield match[0], rule.get("name", "")
                    stack.append(rule)
                elif "captures" in rule:
                    yield from ((match[int(n)], c["name"]) for n, c in rule["captures"].items())
                else:
                    yield match[0], rule["name"]
                if match.end() == offset and not ends and "begin" not in rule:
                    raise AssertionError(f"{rule} matches nothing")
                offset = match.end()
                if offset == len(whole) and ends and not match[0]:
                    break
            yield line[offset:], stack[-1].get("name", "")

    def _next(
        self, around: dict[str, Any], line: str, offset: int
    ) -> tuple[re.Match[str], dict[str, Any], bool] | None:
        best: tuple[re.Match[str], dict[str, Any], bool] | None = None
        end = around.get("end")
        if end is not None and (m := re.compile(end).search(line, offset)) is not None:
            best = (m, around, True)
        for rule in self._rules(around.get("patterns", [])):
            m = re.compile(rule.get("match") or rule["begin"]).search(line, offset)
            if m is not None and (best is None or m.start() < best[0].start()):
                best = (m, rule, False)
        return best
