"""Straight pieces of functions: statements one after another, of which all run if the first does.

`probed` gives code that notes each piece it runs in the bytes `__hits__` of its module, one for each piece: a store costs so
little that tests run at their usual speed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType

Place = tuple[int, int]
"""A line, counted from 1, and a column, counted in bytes."""

_BRANCHES = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)


@dataclass(frozen=True, eq=False)
class Block:
    """A piece of a function, or the body of a lambda."""

    begin: Place
    end: Place
    node: ast.Lambda | None
    """The lambda."""
    statements: list[ast.stmt]
    """The statements that it stands among."""


def blocks(tree: ast.Module) -> list[Block]:
    """The pieces of all functions of a file, in the order of its text."""
    blocks_of_tree: list[Block] = []
    for function in _outermost(tree.body):
        for node in ast.walk(function):
            for statements in _bodies(node):
                blocks_of_tree += _pieces(statements)
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            blocks_of_tree.append(Block(_begin(node.body), _end(node.body), node, []))
    return sorted(blocks_of_tree, key=lambda b: (b.begin, b.node is not None))


def block_at(candidates: Iterable[Block], place: Place) -> Block | None:
    """The innermost piece around a place, none outside of functions."""
    around = [b for b in candidates if b.begin <= place < b.end]
    return max(around, key=lambda b: (b.begin, b.node is not None)) if around else None


def probed(source: str, path: str) -> CodeType:
    """The code of a file that notes which of `blocks` it runs."""
    tree = ast.parse(source)
    for n, block in enumerate(blocks(tree)):
        if block.node is not None:
            mark = ast.parse(f"__hits__.__setitem__({n}, 1)", mode="eval").body
            block.node.body = ast.BoolOp(ast.Or(), [mark, block.node.body])
        else:
            first = next(s for s in block.statements if _begin(s) == block.begin)
            block.statements.insert(block.statements.index(first), ast.parse(f"__hits__[{n}] = 1").body[0])
    return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)


def _outermost(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The functions that stand in no other."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        else:
            for inner in _bodies(node):
                yield from _outermost(inner)


def _bodies(node: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements of a node."""
    if isinstance(node, ast.Lambda):
        return []
    fields = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    return [f for f in fields if isinstance(f, list) and f and isinstance(f[0], ast.stmt)]


def _pieces(statements: list[ast.stmt]) -> Iterator[Block]:
    doc = isinstance(statements[0], ast.Expr) and isinstance(statements[0].value, ast.Constant)
    piece: list[ast.stmt] = []
    for s in statements[1:] if doc else statements:
        piece.append(s)
        if isinstance(s, _BRANCHES) or s is statements[-1]:
            yield Block(_begin(piece[0]), _end(s), None, statements)
            piece = []


def _begin(node: ast.stmt | ast.expr) -> Place:
    decorators = getattr(node, "decorator_list", [])
    return min((n.lineno, n.col_offset) for n in [node, *decorators])


def _end(node: ast.stmt | ast.expr) -> Place:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset
