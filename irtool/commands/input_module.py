"""The input of a command: Relay text, or a model of ONNX, TensorFlow Lite or GGUF, told by the contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ..diagnostics import Diagnostic, IrError
from ..frontends.gguf.recognise import is_gguf
from ..frontends.onnx.recognise import is_binary, is_text
from ..frontends.tflite.recognise import is_tflite
from .foreign import refuse_foreign_bytes, refuse_foreign_text
from .param_facts import ParamFacts, digest
from .source import constants_beside, decode_text, examine_text, read_data
from .warning_flags import warn_of

if TYPE_CHECKING:
    from ..ir import Module


class InputModule(Protocol):
    """A file that holds a module, in any form.

    Attributes:
        name: its name in messages.
        has_weights: True where it may bring values of parameters along.
    """

    @property
    def name(self) -> str: ...

    @property
    def has_weights(self) -> bool: ...

    def key(self) -> object:
        """A key that is equal for equal contents."""

    def examine(
        self, param_facts: ParamFacts, is_settled: bool = False
    ) -> tuple[Module | None, ParamFacts, Sequence[Diagnostic]]:
        """The module, None if it has errors; the known facts of its parameters, its own weights among them; and all diagnostics.

        Raises IrError for a file that cannot be read, and with `is_settled` for inputs of a model that have extents without a
        number."""


@dataclass(frozen=True)
class RelayText:
    """Text of Relay."""

    text: str
    name: str

    @property
    def has_weights(self) -> bool:
        """False: the weights of a text are constants."""
        return False

    def key(self) -> object:
        """The text, a digest of the file of its constants, and names of weights beside it, which notes mention."""
        from .sidecar_weights import sidecar_weights

        constants_path = constants_beside(self.text, self.name)
        return self.text, self.name, constants_path and digest(constants_path), tuple(sidecar_weights(self.name))

    def examine(
        self, param_facts: ParamFacts, is_settled: bool = False
    ) -> tuple[Module | None, ParamFacts, list[Diagnostic]]:
        """See `InputModule`. What needs settled extents needs weights, too: those that lie beside the text and are not given are
        named. Raises UsageError for the name of a dimension that no parameter of `@main` has."""
        from ..parser.mistakes import FromPrelude
        from .sidecar_weights import forgotten_weights

        module, diagnostics = examine_text(self.text, self.name)
        if is_settled and module is not None:
            diagnostics = [*diagnostics, *forgotten_weights(module, self.name, param_facts)]
        if param_facts.prelude:
            diagnostics = [d for d in diagnostics if d.code is not FromPrelude]
        if module is not None and (param_facts.dims or is_settled):
            from .named_dimensions import batch_of_one, with_extents

            if param_facts.dims:
                module = with_extents(module, param_facts.dims, self.name)
            if is_settled:
                module, notes = batch_of_one(module, param_facts, self.name)
                diagnostics = [*diagnostics, *notes]
        return module, param_facts, diagnostics


def read_input(path: str) -> InputModule:
    """Reads a file (`-`: standard input). Raises IrError if it is unreadable, or of a kind that holds no module."""
    data, name = read_data(path, lambda head: _is_onnx(head, path))
    if data is None:
        from .onnx_input import OnnxInput

        return OnnxInput(name)
    if is_tflite(data) or path.endswith(".tflite"):
        from .tflite_input import TfliteInput

        return TfliteInput(name, data)
    if is_gguf(data) or path.endswith(".gguf"):
        from .gguf_input import GgufInput

        return GgufInput(name, data)
    if _is_onnx(data, path):
        from .onnx_input import OnnxInput

        return OnnxInput(name, data)
    return RelayText(*decode_text(data, name, path))


def _is_onnx(head: bytes, path: str) -> bool:
    """True for an ONNX model, by its contents or its name. Raises IrError for another format under such a name."""
    if is_tflite(head) or is_gguf(head):
        return False
    if is_binary(head) or is_text(head):
        return True
    if not path.endswith(".onnx"):
        return False
    refuse_foreign_bytes(head, path)
    refuse_foreign_text(head.decode("utf-8", "replace"), path)
    return True


def read_module(
    path: str, param_facts: ParamFacts | None = None, messages: list[str] | None = None, is_settled: bool = False
) -> tuple[Module, ParamFacts]:
    """The module of a file, and the known facts of its parameters, beginning with `param_facts`.

    Warnings go to standard error, and to `messages`. Raises IrError for errors, and with `is_settled` for inputs of a model that
    have extents without a number.
    """
    return module_of(read_input(path), ParamFacts() if param_facts is None else param_facts, messages, is_settled)


def module_of(
    input_file: InputModule, param_facts: ParamFacts, messages: list[str] | None = None, is_settled: bool = False
) -> tuple[Module, ParamFacts]:
    """The same for a file that has been read."""
    module, param_facts, diagnostics = input_file.examine(param_facts, is_settled)
    if module is None or any(d.level == "error" for d in diagnostics):
        raise IrError(diagnostics)
    texts = warn_of(diagnostics)
    if messages is not None:
        messages.extend(texts)
    return module, param_facts


def read_whole(path: str, param_facts: ParamFacts | None = None) -> Module:
    """The module of a file with the weights that the file brings along as constants."""
    module, known = read_module(path, param_facts)
    return known.bind(module, "main") if known.bound is not None else module
