"""Every place of irtool where one token can be changed so that the program may behave differently.

Operators, conditions, constants, `min`, `any`, ends of ranges, results. Not text: docstrings, messages (whatever stands in
a `raise`, an f-string, or a call that reports), annotations, `__repr__`.
"""

from __future__ import annotations

import ast
import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from tokenize import TokenInfo, generate_tokens

Place = tuple[int, int]
"""A line, counted from 1, and a column, counted in characters."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: str
    line: int
    column: int
    before: str
    after: str
    text: str
    """The line as it stands, without the blanks around it."""

    @property
    def change(self) -> str:
        """What was done, on one line."""
        return f"{' '.join(self.before.split())} → {' '.join(self.after.split())}"

    def apply(self, source: str) -> str:
        """The text of the file with the change; other lines stay where they are."""
        lines = source.splitlines(keepends=True)
        start = sum(map(len, lines[: self.line - 1])) + self.column
        assert source.startswith(self.before, start)
        lost = self.before.count("\n") - self.after.count("\n")
        return source[:start] + self.after + "\n" * lost + source[start + len(self.before) :]


OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "&"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
REPORTS = {"error", "fail", "refuse", "log", "warn", "report", "note", "echo", "print", "debug", "info"}
"""Functions and methods whose arguments are said to people."""


def sample(root: Path, seed: int, count: int, only: str = "irtool") -> list[Mutant]:
    """Mutants drawn from all places with equal chances: those whose hashes are the smallest.

    The first of many are those of few, and a change of the code draws the mutants of other lines no differently.
    """
    ranks: list[tuple[bytes, Mutant]] = []
    for path in sorted((root / "irtool").rglob("*.py")):
        if not str(path.relative_to(root)).startswith(only):
            continue
        same: Counter[str] = Counter()
        for m in mutants(path, root):
            name = f"{seed}:{m.path}:{m.text}:{m.change}"
            same[name] += 1
            ranks.append((hashlib.sha256(f"{name}:{same[name]}".encode()).digest(), m))
    return [m for _, m in sorted(ranks, key=lambda r: r[0])[:count]]


def mutants(path: Path, root: Path) -> list[Mutant]:
    """All mutants of a file, in the order of its text."""
    source = path.read_text(encoding="utf-8")
    finder = _Finder(str(path.relative_to(root)), source)
    finder.visit(ast.parse(source))
    return sorted(finder.mutants, key=lambda m: (m.line, m.column, m.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: str) -> None:
        self.path = path
        self.lines = source.splitlines()
        self.tokens = list(generate_tokens(StringIO(source).readline))
        self.starts = [t.start for t in self.tokens]
        self.mutants: list[Mutant] = []

    # Places.

    def _start(self, node: ast.expr) -> Place:
        return node.lineno, self._characters(node.lineno, node.col_offset)

    def _end(self, node: ast.expr) -> Place:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return node.end_lineno, self._characters(node.end_lineno, node.end_col_offset)

    def _characters(self, line: int, column: int) -> int:
        return len(self.lines[line - 1].encode()[:column].decode())

    def _text(self, node: ast.expr) -> str:
        (first, start), (last, end) = self._start(node), self._end(node)
        if first == last:
            return self.lines[first - 1][start:end]
        return "\n".join([self.lines[first - 1][start:], *self.lines[first : last - 1], self.lines[last - 1][:end]])

    def _between(self, left: ast.expr, right: ast.expr) -> Iterator[TokenInfo]:
        here = slice(bisect_left(self.starts, self._end(left)), bisect_left(self.starts, self._start(right)))
        return iter(self.tokens[here])

    # Changes.

    def _add(self, place: Place, before: str, after: str) -> None:
        line, column = place
        self.mutants.append(Mutant(self.path, line, column, before, after, self.lines[line - 1].strip()))

    def _replace(self, node: ast.expr, after: str) -> None:
        self._add(self._start(node), self._text(node), after)

    def _operator(self, op: ast.AST, left: ast.expr, right: ast.expr) -> None:
        if type(op) not in OPERATORS:
            return
        before, after = OPERATORS[type(op)]
        tokens = [t for t in self._between(left, right) if t.string in before.split()]
        if tokens and (words := before.split()) == [t.string for t in tokens][: len(words)]:
            first, last = tokens[0], tokens[len(words) - 1]
            text = self.lines[first.start[0] - 1][first.start[1] : last.end[1]]
            if first.start[0] == last.end[0]:
                self._add(first.start, text, after)

    def _negate(self, test: ast.expr) -> None:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return  # the `not` is dropped
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and not isinstance(test.ops[0], _ORDERS):
            return  # the comparison is turned round
        if not isinstance(test, ast.Constant):
            self._replace(test, f"(not ({self._text(test)}))")

    # Nodes.

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if not _is_text(node.left) and not _is_text(node.right):
            self._operator(node.op, node.left, node.right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:]):
            self._operator(node.op, left, right)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for op, left, right in zip(node.ops, [node.left, *node.comparators], node.comparators):
            self._operator(op, left, right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(node, f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(node, f"({self._text(node)} + 1)")
            if node.value > 0:
                self._replace(node, f"({self._text(node)} - 1)")
        elif isinstance(node.value, float):
            self._replace(node, f"({self._text(node)} {'+ 1' if node.value + 1 != node.value else '* 2'})")

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        if name in REPORTS:
            return
        if name in ("isinstance", "issubclass"):
            return self.visit(node.args[0])
        if isinstance(node.func, ast.Name) and name in NAMES:
            self._replace(node.func, NAMES[name])
        if isinstance(node.func, ast.Name) and name == "range" and node.args and not node.keywords:
            end = node.args[min(1, len(node.args) - 1)]
            if not isinstance(end, ast.Starred):
                self._replace(end, f"{self._text(end)} - 1")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: an assertion
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" not in ast.dump(node.test):
            self._negate(node.test)
            self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self._replace(node.value, "None")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self._add((node.lineno, node.col_offset), "break", "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add((node.lineno, node.col_offset), "continue", "break")

    # What is only said, or only for readers.

    def visit_Raise(self, node: ast.Raise) -> None:
        """The condition of a message is mutated, the message is not."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """What an assertion says is true: turned round it fails, weakened it is not noticed."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in ("__repr__", "__str__"):
            return
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        if not _is_type_alias(node):
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in OPERATORS:
            before, after = OPERATORS[type(node.op)]
            assert isinstance(node.target, ast.expr)
            for t in self._between(node.target, node.value):
                if t.string == f"{before}=":
                    self._add(t.start, t.string, f"{after}=")
        self.generic_visit(node)


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_type_alias(node: ast.Assign) -> bool:
    """Whether the value is made of names of types alone: `Shape = tuple[int | None, ...]`."""
    parts = [n for n in ast.walk(node.value) if isinstance(n, ast.expr)]
    node_types = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Tuple, ast.List)
    return (
        any(isinstance(p, ast.Subscript) for p in parts)
        and all(
            isinstance(p, node_types) or (isinstance(p, ast.Constant) and (p.value is None or p.value is ...))
            for p in parts
        )
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id[:1].isupper()
    )
