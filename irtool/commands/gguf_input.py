"""A GGUF file as the input of a command."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .param_facts import ParamFacts

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..ir import Module


@dataclass(frozen=True)
class GgufInput:
    """A network: the bytes of its file; with `training`, imported for a training step."""

    name: str
    data: bytes
    training: bool = False

    @property
    def has_weights(self) -> bool:
        """True: tensors of the file are parameters with values."""
        return True

    def key(self) -> object:
        """The bytes of the file."""
        import hashlib

        return self.name, self.training, hashlib.sha256(self.data).hexdigest()

    def load(self) -> Any:
        """The contents of the file. Raises IrError if it is damaged."""
        from ..parser.gguf import read_gguf_data

        return read_gguf_data(self.data, self.name)

    def examine(
        self, param_facts: ParamFacts, is_settled: bool = False
    ) -> tuple[Module, ParamFacts, Sequence[Diagnostic]]:
        """See `InputModule`. The lengths `context` and `tokens` are bounded by `--dim`; weights of `--params` take the place of the file's."""
        from ..frontends.gguf import from_gguf
        from ..parser.params import ParameterFile

        module, weights = from_gguf(self.load(), param_facts.dims, self.training)
        others = param_facts.weights
        merged = ParameterFile(self.name, {n: a for n, a in weights.items() if n not in others})
        merged.join(others)
        return module, replace(param_facts, bound=merged), []
