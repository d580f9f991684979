"""The definition of an export format: a frozen dataclass whose fields are its options.

    @export("relax")
    @dataclass(frozen=True)
    class Relax(Export):
        '''TVMScript …'''

        ending = ".py"

        def write(self, module, request):
            return [File(request.output, [text.encode()], is_text=True)]

`--to=relax` finds it by its name; `--to='relax{option=value}'` sets a field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..ir import Module
from ..plugin import Plugin, Registry, type_hints
from ..plugin.mistakes import adopt, check_dataclass
from ..plugin.origin import is_outside

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Request:
    """The options of an export, beside the module.

    Attributes:
        output: the name of the main file, without folder. Files beside it are named after it.
        entry: the function that the format knows as the model.
        weights: arrays by the names of parameters of the entry. The module still has these parameters, with the arrays' types:
            the format decides how weights are kept.
    """

    output: str
    entry: str = "main"
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class File:
    """A file of an export: its name, without folder, and its contents, part by part.

    `is_text` is True if a terminal can show it.
    """

    name: str
    parts: Iterable[bytes]
    is_text: bool = False


def _no_files(e: Any, arguments: Sequence[Any], result: Any) -> str:
    good = isinstance(result, list) and result and all(isinstance(f, File) for f in result)
    return "" if good else "returned something else than a list of files"


class Export(Plugin):
    """Base of all formats.

    Class attributes:
        ending: the usual ending of the main file, with its dot.
    """

    _kind = "export"
    _checks = MappingProxyType({"write": _no_files})
    ending: ClassVar[str] = ""

    def write(self, module: Module, request: Request) -> list[File]:
        """The files, the main one last: files that it refers to are in place before it is.

        `module` is typed. Raises IrError, with everything that the format has no form for at once (`Unsupported`), before
        anything is written.
        """
        raise NotImplementedError(f"the format {self.name} writes nothing")


exports: Registry[type[Export]] = Registry("export", "irtool.exports")
"""Every format by name."""

X = TypeVar("X", bound=type[Export])


def export(name: str, *, override: bool = False) -> Callable[[X], X]:
    """Class decorator that registers a format under the name that `--to` says. See `plugin.Registry.register`."""

    def register(cls: X) -> X:
        if is_outside(cls):
            adopt(cls, exports.kind, name)
        check_dataclass(cls, f'@export("{name}")')
        exports.register(name, override=override)(cls)
        return cls

    return register


def parse_export(text: str) -> Export:
    """The format that a text such as `relax` or `onnx{opset=20}` asks for.

    Raises UsageError for an unknown name or option, and for a value of the wrong kind.
    """
    from ..passes.core.option_values import check_options
    from ..passes.core.pipeline import parse_call

    name, options = parse_call(text, "format")
    cls = exports.get(name)
    return cls(**check_options("format", name, {f.name: f for f in cls.fields()}, type_hints(cls), options))
