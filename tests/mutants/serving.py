"""A plug-in of pytest that collects all tests once and then runs some of them, in a fork, for each mutant it is told of.

`python -m pytest -p tests.mutants.serving --serve IN OUT FILES` reads from the pipe IN a mutant a line (JSON: `path`, `before`
and `after`, the texts of its file; `tests`, in order; `each` and `most`, limits in seconds) and answers on OUT with its
outcome (JSON: `outcome`, `by`, `seconds`). In the fork the functions of the changed file get their changed code. A test that
fails is run without the change, too, the first time that it does: where it fails all the same, it counts no more.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import time
from collections.abc import Iterator
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutants.limits import limited

NOTHING = "no function changes"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--serve", nargs=2, type=Path, required=True, help="pipes for mutants and for their outcomes")


def pytest_runtestloop(session: pytest.Session) -> bool:
    items = {item.nodeid: item for item in session.items}
    requests, answers = session.config.getoption("--serve")
    gc.collect()
    gc.freeze()
    with requests.open() as coming, answers.open("w") as going:
        print(json.dumps(sorted(items)), file=going, flush=True)
        sound: set[str] = set()
        for line in coming:
            print(json.dumps(_verdict(json.loads(line), items, sound)), file=going, flush=True)
    return True


def _verdict(request: dict[str, Any], items: dict[str, pytest.Item], sound: set[str]) -> dict[str, Any]:
    """The outcome of a mutant by tests that pass without it: `sound` are those known to, the others are taken out."""
    while True:
        answer = _attempt(request, items)
        by = answer.get("by", "")
        if answer["outcome"] != "killed" or by in sound or by not in items:
            return answer
        if _attempt({**request, "tests": [by], "after": None}, items)["outcome"] == "survived":
            sound.add(by)
            return answer
        del items[by]


def _attempt(request: dict[str, Any], items: dict[str, pytest.Item]) -> dict[str, Any]:
    """The outcome of a mutant, found out in a fork."""
    known = [items[t] for t in request["tests"] if t in items]
    reads, writes = os.pipe()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.close(reads)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        for stream in (1, 2):
            os.dup2(0, stream)
        failed = "the tests did not run"
        try:
            failed = _run(request, known)
        finally:
            os.write(writes, failed.encode())
            os._exit(0)
    os.close(writes)
    ended = bool(select.select([reads], [], [], request["most"])[0])
    by = os.read(reads, 1 << 16).decode() if ended else ""
    os.close(reads)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if by == NOTHING:
        return {"outcome": NOTHING}
    outcome = "timed out" if not ended or by.startswith("took") else "killed" if by else "survived"
    return {"outcome": outcome, "by": by, "tests": len(known), "seconds": round(seconds, 1)}


def _run(request: dict[str, Any], items: list[pytest.Item]) -> str:
    """The first of the tests that fails with the changed code, "" if none does."""
    if request["after"] is not None and not put(request["path"], request["before"], request["after"]):
        return NOTHING
    if not items:
        return ""
    reports: list[pytest.TestReport] = []

    class Listener:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(self) -> Iterator[None]:
            with limited(request["each"]):
                return (yield)

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            reports.append(report)

    items[0].config.pluginmanager.register(Listener())
    end = time.monotonic() + request["most"] - 1
    for item, following in zip(items, [*items[1:], None]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if any(r.failed for r in reports):
            late = any("Failed: took longer than" in str(r.longrepr) for r in reports)
            return f"{'took too long: ' if late else ''}{item.nodeid}"
        if time.monotonic() > end:
            break
    return ""


def put(path: str, before: str, after: str) -> bool:
    """Gives the functions of a file that are affected by a change their changed code; whether there are any."""
    old = _codes(compile(before, path, "exec"))
    new = _codes(compile(after, path, "exec"))
    changed = {key: code for key, code in new.items() if key in old and _differ(old[key], code)}
    gc.unfreeze()
    every = gc.get_objects()
    own = [f for f in every if isinstance(f, FunctionType) and f.__code__.co_filename.endswith(path)]
    own = [f for f in own if _key(f.__code__) in changed]
    for cached in every:
        if isinstance(cached, _lru_cache_wrapper) and any(cached.__wrapped__ is f for f in own):
            cached.cache_clear()
    for f in own:
        code = changed[_key(f.__code__)]
        f.__code__ = code.replace(co_filename=f.__code__.co_filename)
    return bool(own)


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(module: CodeType) -> dict[tuple[str, int], CodeType]:
    """The code of everything that is defined in a module."""
    codes: dict[tuple[str, int], CodeType] = {}
    stack = [module]
    while stack:
        code = stack.pop()
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                codes[_key(inner)] = inner
                stack.append(inner)
    return codes


def _differ(a: CodeType, b: CodeType) -> bool:
    """Whether two pieces of code do different things."""
    return (
        a.co_code != b.co_code
        or len(a.co_consts) != len(b.co_consts)
        or any(
            _differ(x, y) if isinstance(x, CodeType) and isinstance(y, CodeType) else (type(x), x) != (type(y), y)
            for x, y in zip(a.co_consts, b.co_consts)
        )
        or a.co_names != b.co_names
    )
