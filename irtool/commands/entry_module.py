"""The module whose entry is run: its constants filled in, its weights bound, its types known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .notes import say_constants
from .param_facts import ParamFacts
from .warning_flags import warn_of

if TYPE_CHECKING:
    from ..ir import Module


@dataclass(frozen=True)
class EntryModule:
    """A module whose entry is run.

    Attributes:
        given: what is known of its parameters, what the file brings along included.
        places: of the entry's parameters in the text, by name, weights among them; none of what has been lowered.
        messages: the warnings and notes that reading it gave.
    """

    module: Module
    param_facts: ParamFacts
    places: Mapping[str, int]
    messages: Sequence[str] = ()


def read_entry_module(file: str, param_facts: ParamFacts, entry: str, missing_constants: str, seed: int) -> EntryModule:
    """The module of a file; how constants without data are made is said.

    Raises IrError for a module without the entry, or with types that are not known.
    """
    from ..diagnostics import IrError
    from ..driver.mistakes import NoSuchEntry
    from ..driver.state_lengths import with_state_lengths
    from ..infer import require_types
    from ..ir import Function
    from ..ir.odd_weights import odd_weights
    from ..passes.core.bind import fill_missing_constants
    from .input_module import read_module

    messages: list[str] = []
    module, param_facts = read_module(file, param_facts, messages, is_settled=True)
    if entry not in module.functions:
        have = ", ".join("@" + n for n in module.functions) or "none"
        raise IrError(f"there is no function @{entry} in {file} (it has {have})", code=NoSuchEntry)
    if missing_constants in ("error", "param"):  # as parameters they may be among what is given
        module = fill_missing_constants(module, missing_constants)
    function = module.functions[entry]
    numbering = {p.name: n for n, p in enumerate(function.params)} if isinstance(function, Function) else {}
    for odd in odd_weights(module, param_facts.weights):
        messages += warn_of([odd])
    module = param_facts.bind(module, entry, lambda d: messages.extend(warn_of([d])))
    sentence = say_constants(module, missing_constants, seed)
    messages += [f"note: {sentence}"] if sentence else []
    module = require_types(fill_missing_constants(module, missing_constants, seed), [entry])
    module = with_state_lengths(module, entry)
    return EntryModule(module, param_facts, numbering, messages)
