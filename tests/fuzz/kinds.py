"""What the fuzzer draws: each kind of input with its trial and the form in which a failure is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz.agreement import try_some, write_disagreement
from tests.fuzz.compiled import run_compiled, run_compiled_programs, write_compiled, write_compiled_program
from tests.fuzz.data import run_data_programs, write_data_program
from tests.fuzz.extents import run_extents, write_extents
from tests.fuzz.failures import write_failure, write_text_failure
from tests.fuzz.kernels import run_imports, run_kernels, write_import, write_kernel
from tests.fuzz.model_trial import run_model_trial, write_model_failure
from tests.fuzz.onnx_operators import run_operators, write_operator
from tests.fuzz.programs import polymorphic_program_text, program_module
from tests.fuzz.state_networks import run_states, write_states
from tests.fuzz.text_trial import run_text_trial
from tests.fuzz.together import run_together_programs, write_together_program
from tests.fuzz.trial import run_program_trial, run_trial
from tests.fuzz.values import run_values, write_value


@dataclass(frozen=True)
class Kind:
    """One kind of input.

    Attributes:
        batch: trials that a process does before it answers.
        run: the trials of a range of seeds. An outcome has a `seed`, a `kind` (`failed` is what is looked for), a `message` and
            a `pipeline`.
        write: keeps a failure in a folder, as a golden; returns the file.
    """

    batch: int
    run: Callable[[Sequence[int]], Iterable[Any]]
    write: Callable[[Any, Path], Path]


KINDS = {
    "modules": Kind(20, partial(map, run_trial), write_failure),
    "programs": Kind(20, partial(map, run_program_trial), partial(write_failure, draw=program_module)),
    "calls": Kind(100, partial(map, try_some), write_disagreement),
    "texts": Kind(200, partial(map, partial(run_text_trial, wide=True)), write_text_failure),
    "compiled": Kind(10, run_compiled, write_compiled),
    "compiled-programs": Kind(10, run_compiled_programs, write_compiled_program),
    "polymorphic": Kind(
        10,
        partial(run_compiled_programs, text=polymorphic_program_text),
        partial(write_compiled_program, text=polymorphic_program_text),
    ),
    "data": Kind(5, run_data_programs, write_data_program),
    "together": Kind(5, run_together_programs, write_together_program),
    "models": Kind(50, partial(map, partial(run_model_trial, wide=True)), write_model_failure),
    "values": Kind(30, run_values, write_value),
    "kernels": Kind(10, run_kernels, write_kernel),
    "imports": Kind(20, run_imports, write_import),
    "extents": Kind(5, run_extents, write_extents),
    "states": Kind(5, partial(map, run_states), write_states),
    "onnx": Kind(40, run_operators, write_operator),
}
