"""The LALR tables of `relay.lark`: the action of each state on each symbol, and the pattern of a token.

lark makes them from the grammar; `relay.tables` beside it holds them as JSON, so that reading a text needs neither lark nor
its time. The file carries the checksum of the grammar that it was made from; where that is another one (the grammar is being
edited) the tables are made anew in memory. `python -m irtool.parser.tables` writes the file.
"""

from __future__ import annotations

import json
import pkgutil
import re
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any

STARTS = ("module", "expression", "lone_type")

_BLANK = r"(?:[ \t\r\n\f\ufeff]++|//[^\n]*+|/\*[^*/]*+(?:(?:\*(?!/)|/(?!\*))[^*/]*+)*+\*/)*+"
"""Blanks and comments. A comment that holds another one, or has no end, is not matched: see the lexer."""

_PATH = r"%[A-Za-z_]\w*+(?:[.:+\-/]+\w+)+"
"""A variable's name and the characters that may belong to it or not: `%layer1.0/conv:0`, `%x.0`, `%n-1`."""


@dataclass(frozen=True)
class Tables:
    """The tables of the parser.

    Attributes:
        actions: for each state, by symbol: the next state, or `~n` to reduce rule `n` (terminals), or the state to go to
            (nonterminals).
        rules: for each rule: its nonterminal, the number of its symbols, the builder's method (empty: hand the value on).
        starts: the first state for each start symbol.
        accessing: for each state the symbol that leads to it (empty for first states).
        word: blanks, then one group per kind of word.
        groups: the terminal of each group (index 0 unused; empty where `fixed` decides). Beside the grammar's there are
            `PATH`, `COMMENT` (one that needs care), `JUNK` (a character that starts no word) and `$END`.
        fixed: the terminal of each fixed word and sign.
        after: the states that `goto` found so far.
    """

    actions: list[dict[str, int]]
    rules: list[tuple[str, int, str]]
    starts: dict[str, int]
    accessing: list[str]
    word: re.Pattern[str]
    groups: list[str]
    fixed: dict[str, str]
    after: dict[tuple[int, str, str], int] = field(default_factory=dict)

    def goto(self, below: int, symbol: str, word: str) -> int:
        """The state behind `symbol` above the state `below` where `word` comes next.

        An atom is a postfix is a unary …: the rules that only hand a value on are taken here at once. There are half a dozen for
        each atom, and nothing is made of them.
        """
        state = self.actions[below][symbol]
        while True:
            action = self.actions[state].get(word, 0)
            if action >= 0:
                break
            name, count, method = self.rules[~action]
            if count != 1 or method:
                break
            state = self.actions[below][name]
        self.after[below, symbol, word] = state
        return state


def _grammar() -> str:
    return (pkgutil.get_data(__package__, "relay.lark") or b"").decode()


def _checksum(grammar: str) -> str:
    return f"{zlib.crc32(grammar.encode()):08x}"


@cache
def load() -> Tables:
    """The tables of the grammar; read once."""
    grammar = _grammar()
    try:
        data = json.loads(pkgutil.get_data(__package__, "relay.tables") or b"{}")
    except FileNotFoundError:
        data = {}
    if data.get("grammar") != _checksum(grammar):
        data = make(grammar)
    return Tables(
        actions=data["actions"],
        rules=[tuple(r) for r in data["rules"]],
        starts=data["starts"],
        accessing=data["accessing"],
        word=re.compile(data["word"]),
        groups=data["groups"],
        fixed=data["fixed"],
    )


def make(grammar: str) -> dict[str, Any]:
    """Runs lark on the grammar. States are numbered in order of discovery, so that the result depends on the text alone."""
    from lark import Lark
    from lark.parsers.lalr_analysis import Shift

    lark = Lark(grammar, parser="lalr", start=list(STARTS), maybe_placeholders=False)
    table = lark.parser.parser._parse_table
    number: dict[int, int] = {}
    queue: list[int] = []

    def find(state: int) -> int:
        if state not in number:
            number[state] = len(number)
            queue.append(state)
        return number[state]

    rule_at = {rule: n for n, rule in enumerate(lark.rules)}
    starts = {s: find(table.start_states[s]) for s in STARTS}
    actions: list[dict[str, int]] = []
    accessing = [""] * len(table.states)
    for state in queue:
        row: dict[str, int] = {}
        for symbol, (kind, argument) in sorted(table.states[state].items()):
            if kind is Shift:
                row[symbol] = find(argument)
                accessing[row[symbol]] = symbol
            else:
                row[symbol] = ~rule_at[argument]
        actions.append(row)
    word, groups, fixed = _words(lark.terminals)
    return {
        "grammar": _checksum(grammar),
        "starts": starts,
        "rules": [[r.origin.name, len(r.expansion), r.alias or ""] for r in lark.rules],
        "accessing": accessing,
        "word": word,
        "groups": groups,
        "fixed": fixed,
        "actions": actions,
    }


def _words(terminals: Any) -> tuple[str, list[str], dict[str, str]]:
    """One pattern for all words: terminals of higher priority first, then signs, then the rest as in the grammar."""
    fixed = {t.pattern.value: t.name for t in terminals if t.pattern.type == "str"}
    matchers = {"match": "MATCH", "match?": "MATCH"}
    patterns = [t for t in terminals if t.pattern.type == "re" and t.name not in matchers.values()]
    signs = sorted((s for s in fixed if not s[0].isalpha() and s != "_"), key=lambda s: (-len(s), s))
    first = [t for t in patterns if t.priority > 0]
    rest = [t for t in patterns if t.priority <= 0]
    tried = [
        *[(t.name, t.pattern.to_regexp()) for t in first],
        ("COMMENT", r"/\*"),
        ("", _alternatives(signs)),
        ("", r"match\?"),
        *[(t.name, t.pattern.to_regexp()) for t in rest],
        ("PATH", _PATH),
        ("JUNK", r"(?s:.)"),
        ("$END", r"\Z"),
    ]
    groups = ["", *[name for name, _ in tried]]
    alternatives = [pattern for _, pattern in tried]
    word = _BLANK + "(?:" + "|".join(f"({a})" for a in alternatives) + ")"
    return word, groups, {**fixed, **matchers}


def _alternatives(signs: list[str]) -> str:
    """A pattern for signs, the longest first where one starts another; single characters as sets, which are found at once."""
    longer = [s for s in signs if len(s) > 1]
    starts = {s[0] for s in longer}
    single = [s for s in signs if len(s) == 1]
    apart = "".join(re.escape(s) for s in single if s not in starts)
    other = "".join(re.escape(s) for s in single if s in starts)
    return "|".join([f"[{apart}]", *map(re.escape, longer), *([f"[{other}]"] if other else [])])


def main() -> None:
    """Writes `relay.tables`."""
    from pathlib import Path

    tables = make(_grammar())
    lines = ",\n".join(f'"{key}": {json.dumps(value, separators=(",", ":"))}' for key, value in tables.items())
    Path(__file__).with_name("relay.tables").write_text("{" + lines + "}\n", "utf-8")


if __name__ == "__main__":
    main()
