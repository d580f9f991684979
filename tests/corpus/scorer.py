"""The corpus beside the checkout, and the script that scores it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent

SHARED = HERE.parent.parent.parent / "shared"

CORPUS = SHARED / "corpus"


def scorer() -> Any:
    spec = importlib.util.spec_from_file_location("corpus_score", SHARED / "tools" / "score.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
