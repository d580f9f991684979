"""Diagnostics for programs: JSON records, annotations of GitHub's workflows, and SARIF.

SARIF 2.1.0 is the OASIS standard for results of static analysis; code scanning of forges and editors read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .. import __version__

if TYPE_CHECKING:
    from ..diagnostics import Code, Diagnostic

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def record(d: Diagnostic) -> dict[str, object]:
    record: dict[str, object] = {
        "level": d.level,
        "code": d.code.name if d.code else None,
        "message": d.message,
        "notes": list(d.notes),
        "help": d.help,
    }
    if d.span is not None:
        line, column = d.span.source.position(d.span.start)
        end_line, end_column = d.span.source.position(max(d.span.end, d.span.start))
        record |= {
            "file": d.span.source.name,
            "line": line,
            "column": column,
            "end_line": end_line,
            "end_column": end_column,
        }
    elif d.filename:
        record["file"] = d.filename
    return record | getattr(d, "details", {})


def _github(d: Diagnostic) -> str:
    r = record(d)
    where = ",".join(f"{k}={r[v]}" for k, v in (("file", "file"), ("line", "line"), ("col", "column")) if v in r)
    text = d.message + (f" ({d.help})" if d.help else "")
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    title = f"{',' if where else ''}title={d.code.name}" if d.code else ""
    level = "notice" if d.level == "note" else d.level
    return f"::{level} {where}{title}::{escaped}"


def _records(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    yield json.dumps([record(d) for d in diagnostics], indent=1)


def _annotations(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    return map(_github, diagnostics)


def _sarif(diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    """One log with one run, whose rules are the codes of its results."""
    codes = {d.code.name: d.code for d in diagnostics if d.code is not None}
    driver = {"name": "irtool", "version": __version__, "rules": [_rule(codes[name]) for name in sorted(codes)]}
    results = [_result(d) for d in diagnostics]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(code: type[Code]) -> dict[str, Any]:
    text = (code.__doc__ or code.__name__).strip()
    return {
        "id": code.name,
        "name": code.__name__,
        "shortDescription": {"text": text.partition("\n")[0]},
        "fullDescription": {"text": " ".join(text.split())},
    }


def _result(d: Diagnostic) -> dict[str, Any]:
    r = record(d)
    text = ". ".join([d.message, *d.notes, *([f"help: {d.help}"] if d.help else [])])
    result: dict[str, Any] = {"level": d.level, "message": {"text": text}}
    if d.code is not None:
        result["ruleId"] = d.code.name
    if "file" in r:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(str(r["file"]))}}
        if "line" in r:
            place["region"] = {
                "startLine": r["line"],
                "startColumn": r["column"],
                "endLine": r["end_line"],
                "endColumn": r["end_column"],
            }
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(path: str) -> str:
    """A relative reference for a relative path, `file:///…` for an absolute one."""
    reference = quote(path.replace(os.sep, "/"))
    return f"file://{reference}" if reference.startswith("/") else reference


FORMATS = {"json": _records, "github": _annotations, "sarif": _sarif}
"""For the name of a format, the lines of diagnostics in it."""
