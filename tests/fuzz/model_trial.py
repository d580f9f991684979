"""One trial of an ONNX model: it is imported, as a module that reads back from its text, or refused with a diagnostic."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import irtool
from irtool.diagnostics import IrError, render
from tests.fuzz.model_mutators import mutate_model
from tests.fuzz.model_seeds import seeds, wide_seeds
from tests.fuzz.text_trial import FailureError, StuckError, check_text, limited_time

LONGEST = 30
"""Seconds after which an import counts as endless."""
_MOST_PRINTED = 1 << 20
"""Bytes of weights up to which a module is printed and read again."""


@dataclass(frozen=True)
class ModelOutcome:
    """What became of a model. `kind`: imported, refused, or failed."""

    seed: int
    kind: str
    model: bytes = field(repr=False, default=b"")
    message: str = ""
    pipeline: tuple[str, ...] = ("import",)


def run_model_trial(seed: int, wide: bool = False) -> ModelOutcome:
    """The trial of the model of this seed."""
    draw = random.Random(seed)
    return try_model(mutate_model(draw.choice(wide_seeds() if wide else seeds()), draw), seed)


def try_model(model: bytes, seed: int = 0) -> ModelOutcome:
    """Imports a model."""
    try:
        with warnings.catch_warnings(), limited_time(LONGEST):
            warnings.simplefilter("ignore")
            module, weights = irtool.from_onnx(model)
            if sum(a.nbytes for a in weights.values()) <= _MOST_PRINTED:
                _check_text(module)
    except IrError as error:
        if error.exit_code not in (1, 2) or not render(error):
            return ModelOutcome(seed, "failed", model, str(error))
        return ModelOutcome(seed, "refused", model, str(error))
    except FailureError as error:
        return ModelOutcome(seed, "failed", model, str(error))
    except (Exception, StuckError) as error:  # noqa: BLE001 - whatever else leaves the import is what is looked for
        return ModelOutcome(seed, "failed", model, f"{type(error).__name__}: {error}")
    return ModelOutcome(seed, "imported", model)


def _check_text(module: irtool.Module) -> None:
    text = irtool.to_text(module)
    if "=meta[relay." in text:  # attributes that are expressions, as of arange, are other ones where they are read
        irtool.parse(text)
    else:
        check_text(module, "what was imported")


def write_model_failure(outcome: ModelOutcome, folder: Path) -> Path:
    """Writes the model; `irtool check` shows the failure. Returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"model_{outcome.seed}.onnx"
    path.write_bytes(outcome.model)
    return path
