"""Places in the source survive passes, and every refusal of a pass has one."""

from __future__ import annotations

import ast
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

import irtool
from irtool.diagnostics import IrError, render
from irtool.ir import Constructor, Module, Op, post_order
from irtool.passes import parse_pipeline
from tests.passes.refusals import CASES, UNREACHED

HERE = Path(__file__).parent
GOLDENS = HERE.parent / "golden" / "passes"
ROOM = Path(irtool.__file__).parent / "passes"


def pipelines(path: Path, head: str = "irtool opt") -> Iterator[str]:
    """The pipelines of a golden's RUN lines that begin like that."""
    for line in path.read_text().splitlines():
        _, separator, rest = line.partition(f"// RUN: {head} ")
        if separator and "|" not in rest:
            yield from (w.removeprefix("--passes=") for w in shlex.split(rest) if w.startswith("--passes="))


def without_place(module: Module) -> list[str]:
    return [
        repr(e)
        for f in module.relay_functions.values()
        for e in post_order(f)
        if e.span is None and not isinstance(e, Op | Constructor)
    ]


@pytest.mark.promise("places")
@pytest.mark.parametrize("name", sorted(p.name for p in GOLDENS.iterdir()))
def test_what_passes_make_has_a_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(GOLDENS / name)
    for path in sorted((GOLDENS / name).glob("*.relay")):
        for pipeline in pipelines(path):
            module = irtool.run_passes(irtool.parse(path.read_text(), filename=path.name), [])
            assert not without_place(module), "the text itself"
            for p in parse_pipeline(pipeline):
                try:
                    module = irtool.run_passes(module, [p], opt_level=4)
                except IrError:
                    break  # needs options of the command line
                assert not without_place(module), (path.name, p.text())


def test_what_was_given_is_left_alone() -> None:
    """Nodes that have types belong to a module that somebody has: they get no place, nor another one."""
    source = irtool.infer_types(irtool.parse("def @main(%x: Tensor[(2), float32]) { add(%x, nn.relu(%x)) }"))
    call = source["main"].body  # type: ignore[attr-defined]
    bare = type(call)(call.op, call.args, call.attrs, (), None)
    module = irtool.infer_types(source.with_function("main", type(source["main"])(source["main"].params, bare)))  # type: ignore[attr-defined,call-arg]
    body = module["main"].body  # type: ignore[attr-defined]
    irtool.run_passes(module, "FastMath,FuseOps,ToANormalForm")
    assert body.span is None


def run(pipeline: str, text: str) -> IrError:
    """The refusal of a text by passes."""
    with pytest.raises(IrError) as caught:
        irtool.run_passes(irtool.parse(text, filename="t.relay"), pipeline, opt_level=4)
    return caught.value


@pytest.mark.promise("places")
@pytest.mark.parametrize(("pipeline", "text", "message"), CASES, ids=[f"{c[0][:40]}-{c[2][:30]}" for c in CASES])
def test_every_refusal_has_a_place(pipeline: str, text: str, message: str) -> None:
    error = run(pipeline, text)
    assert message in str(error)
    assert error.exit_code in (1, 2)
    for d in error.diagnostics:
        assert d.span is not None, render(error)
        assert "^" in render([d])


def raising(error: BaseException | None) -> Iterator[tuple[str, int]]:
    """Files of the room and lines through which an error, or one that it came of, went."""
    while error is not None:
        frame: TracebackType | None = error.__traceback__
        while frame is not None:
            name = frame.tb_frame.f_code.co_filename
            if name.startswith(str(ROOM)):
                yield os.path.relpath(name, ROOM), frame.tb_lineno
            frame = frame.tb_next
        error = error.__cause__ or error.__context__


def refusals_in(path: Path) -> Iterator[int]:
    """Lines that raise the error of a rejected input."""
    for n in ast.walk(ast.parse(path.read_text())):
        if isinstance(n, ast.Raise) and isinstance(n.exc, ast.Call) and isinstance(n.exc.func, ast.Name):
            if n.exc.func.id in ("IrError", "_not_normal"):
                yield n.lineno


def is_excused(name: str, line: int) -> bool:
    """Whether the table says why nothing reaches these lines."""
    context = " ".join((ROOM / name).read_text().splitlines()[line - 1 : line + 3])
    return any(file == name and part in context for file, _, part in (key.partition(": ") for key in UNREACHED))


@pytest.mark.promise("places")
def test_every_refusal_is_provoked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each `raise` in the passes is reached by a case, by a golden that fails, or is listed with the reason."""
    reached: set[tuple[str, int]] = set()
    for pipeline, text, _ in CASES:
        reached |= set(raising(run(pipeline, text)))
    for path in sorted(GOLDENS.rglob("*.relay")):
        monkeypatch.chdir(path.parent)
        for pipeline in pipelines(path, "not irtool opt"):
            try:
                irtool.run_passes(irtool.parse(path.read_text(), filename=path.name), pipeline, opt_level=4)
            except IrError as error:
                reached |= set(raising(error))
                assert all(d.span is not None for d in error.diagnostics), (path, render(error))
    missing = [
        f"{name}:{line}"
        for path in sorted(ROOM.rglob("*.py"))
        for line in refusals_in(path)
        if ((name := str(path.relative_to(ROOM))), line) not in reached and not is_excused(name, line)
    ]
    assert not missing
