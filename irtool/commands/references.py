"""Writes the generated references and the index of plug-ins: `python -m irtool.commands.references [FOLDER]`."""

from __future__ import annotations

import sys
from pathlib import Path


def references() -> dict[str, str]:
    """File name ⇒ text, of irtool's own plug-ins alone: those installed beside it have no place there."""
    from ..plugin.loading import own_alone

    with own_alone():
        return _references()


def _references() -> dict[str, str]:
    from ..exports.onnx.reference import reference as onnx
    from .api_manual import reference as api
    from .code_manual import reference as codes
    from .command_manual import reference as commands
    from .op_manual import facts_reference as operator_facts
    from .op_manual import reference as operators
    from .pass_manual import reference as passes
    from .pass_manual import tir_reference
    from .relax_manual import reference as relax

    return {
        "commands.md": commands(),
        "errors.md": codes(),
        "operators.md": operator_facts(),
        "ops.md": operators(),
        "passes.md": passes(),
        "python-api.md": api(),
        "relay-to-onnx.md": onnx(),
        "relay-to-relax.md": relax(),
        "tir-passes.md": tir_reference(),
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for name, text in references().items():
        (folder / name).write_text(text, encoding="utf-8")
    from ..plugin.loading import own_alone
    from .plugin_index import PLACE, index

    with own_alone():
        text = index()
    PLACE.write_text(text, encoding="utf-8")
