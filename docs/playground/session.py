"""irtool in a browser: answers requests of docs/playground/worker.mjs, which runs this file in CPython for WebAssembly.

A request is a JSON text in `/tmp/request.json`: `text`, `passes`, `vector`. The answer is one in `/tmp/answer.json`: `steps`, an HTML page with
the text and the drawing of the module after each pass; `changes`, the name of each step with its remark; `files`, the generated C by name;
`messages`, the errors and warnings as `irtool` prints them.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_REQUEST, _ANSWER = Path("/tmp/request.json"), Path("/tmp/answer.json")


def prepare() -> None:
    """Imports and warms what requests use, so that the first one is as fast as the others."""
    _ANSWER.write_text(json.dumps(answer({"text": "def @main(%x: Tensor[(1,), float32]) { %x }", "passes": ""})))


def respond() -> None:
    """Answers the request that is in its file."""
    _ANSWER.write_text(json.dumps(answer(json.loads(_REQUEST.read_text()))))


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request."""
    result: dict[str, Any] = {"steps": "", "changes": [], "files": {}, "messages": ""}
    messages: list[str] = []
    with _collected(messages):
        module = _transformed(request, result)
        result["files"] = _c_files(module, request.get("vector", False))
    result["messages"] = "\n".join(messages)
    return result


@contextlib.contextmanager
def _collected(messages: list[str]) -> Iterator[None]:
    """Adds warnings and errors of the block to a list."""
    from irtool import IrError
    from irtool.diagnostics import render

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except IrError as error:
            messages.append(render(error))
        except Exception:  # a bug of irtool: the page says so and stays usable
            messages.append("bug in irtool:\n" + traceback.format_exc())
        messages += [f"note: {w.message}" for w in caught]


def _transformed(request: dict[str, Any], result: dict[str, Any]) -> Any:
    """The module after the passes; `result` gets the page of the steps, also of those before one that fails."""
    import irtool
    from irtool.viz.html import write_steps
    from irtool.viz.pipeline import Recorder, draw_pipeline

    module = irtool.parse(request["text"], filename="net.relay")
    recorder = Recorder()
    try:
        if request["passes"].strip():
            module = irtool.run_passes(module, request["passes"], instruments=[recorder])
    finally:
        steps = draw_pipeline(recorder.modules or [("input", module)], "net.relay")
        result["steps"] = write_steps("net.relay", steps)
        result["changes"] = [{"title": s.title, "remark": s.remark} for s in steps]
    return module


def _c_files(module: Any, vector: bool) -> dict[str, str]:
    """The generated sources by name."""
    import irtool

    with tempfile.TemporaryDirectory() as folder:
        irtool.build(module, emit="c", name="net", vector=vector, weights="inline", cache=False, out_dir=folder)
        return {path.name: path.read_text() for path in sorted(Path(folder).glob("*.[ch]"))}
