"""The tables that are shipped are those of the grammar."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources

from irtool.parser.builder import Builder
from irtool.parser.tables import load, make


def shipped() -> dict:
    return json.loads(resources.files("irtool.parser").joinpath("relay.tables").read_text("utf-8"))


def grammar() -> str:
    return resources.files("irtool.parser").joinpath("relay.lark").read_text("utf-8")


def test_shipped_tables_are_fresh():
    assert make(grammar()) == shipped()


def test_tables_do_not_depend_on_hash_order():
    code = (
        "import hashlib, json; from irtool.parser import tables; "
        "print(hashlib.sha256(json.dumps(tables.make(tables._grammar())).encode()).hexdigest())"
    )
    run = [
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        )
        for seed in ("1", "2")
    ]
    assert run[0].stdout == run[1].stdout != b""


def test_every_alternative_has_its_method():
    for _, _, method in load().rules:
        assert not method or callable(getattr(Builder, method))


def test_reading_needs_no_lark():
    code = "import sys; from irtool.parser import parse; parse('def @main() { 1 }'); assert 'lark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
