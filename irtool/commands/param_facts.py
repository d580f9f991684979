"""The options with facts about parameters: each exists once, and means the same in every command.

Weights become constants before types are inferred. Shapes, dtypes and the arrays of inputs give types to parameters that
have none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import click

from . import param_types
from .fixed_values import read_fixed
from .mistakes import BadValue, ClashingOptions
from .warning_flags import warn
from .wrong_usage import WrongUsage

if TYPE_CHECKING:
    from ..diagnostics import Diagnostic
    from ..driver.extents import Extent
    from ..ir import Module
    from ..parser.params import ParameterFile
    from .images import ImageRule


@dataclass(frozen=True)
class ParamFacts:
    """Facts about parameters from a command line.

    Attributes:
        shapes, dtypes: by name of a parameter, or of a field of a tuple (`t.0`).
        params: the files with weights.
        inputs: the files with arrays for inputs.
        single: files with the array of one parameter each, by its name.
        dims: extents of dimensions that have names in an ONNX model.
        bound: all weights, once the module is there: those of `params`, and those that an ONNX model has.
        names: of an ONNX model's inputs: their names as parameters.
        fixed: values of parameters that become constants, as on the command line, by name.
        prelude: True if definitions of TVM's prelude may be used without a note.
        states: inputs that stay in the memory of an instance, each with the output that is its next value; or `auto`.
        image: how images among `single` become arrays; None if they are refused.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    params: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    single: Mapping[str, str] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    bound: ParameterFile | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    prelude: bool = False
    states: Mapping[str, str] | str = field(default_factory=dict)
    image: ImageRule | None = None

    def __bool__(self) -> bool:
        return bool(
            self.shapes
            or self.dims
            or self.dtypes
            or self.params
            or self.inputs
            or self.single
            or self.fixed
            or self.states
            or self.bound
        )

    @functools.cached_property
    def weights(self) -> ParameterFile:
        """The weights by name. Raises IrError for a name that two files have."""
        from .fixed_values import fixed_arrays
        from .source import read_arrays

        if self.bound is not None:
            return self.bound
        read = read_arrays(*self.params)
        read.join(fixed_arrays(self.fixed))
        return read

    @functools.cached_property
    def values(self) -> ParameterFile:
        """The arrays of inputs by name. Raises IrError for a name that is given twice, also where one array is a weight."""
        from ..diagnostics import IrError
        from ..parser.params import ParameterFile
        from .images import is_image
        from .source import read_array, read_arrays

        result = read_arrays(*self.inputs, role="input")
        for name, path in self.single.items():
            is_picture = is_image(path)
            if is_picture and self.image is None:
                raise IrError("this is an image, which `irtool run` reads", filename=path, help="give a .npy file")
            array = self.image.read(path, name) if is_picture and self.image else read_array(path, name)
            result.join(ParameterFile(path, {name: array}))
        result = result.renamed(self.names)
        ParameterFile.merged([self.weights, result])
        return result

    def with_values(self, values: ParameterFile) -> ParamFacts:
        """The same facts with other arrays of inputs."""
        other = replace(self)
        vars(other)["values"] = values
        return other

    @property
    def origins(self) -> Mapping[str, str]:
        """The files that the arrays of inputs are from, by name."""
        return self.values.origins

    def specialize(self, module: Module, entry: str, say: Callable[[Diagnostic], None] | None = None) -> Module:
        """The module specialised to the facts about the parameters of `entry`, weights aside; `say` gets the assumptions.

        Calls that wait for extents of an ONNX model become operators as far as these are known.
        """
        from ..infer import specialize
        from ..ops.onnx_node import settle_waiting

        self._check_names(module, entry)
        module = specialize(module, entry, self.shapes, self.dtypes, self.weights, self.values, say or warn)
        module = settle_waiting(module, entry, self.weights)
        if not self.states:
            return module
        from ..driver.states import with_states

        return with_states(module, entry, self.states)

    def _check_names(self, module: Module, entry: str) -> None:
        """Raises IrError for arrays of inputs that belong to no parameter."""
        from ..diagnostics import Diagnostic, IrError, nearest

        function = module.relay_functions.get(entry)
        names = [p.name for p in function.params] if function is not None else []
        wrong = [n for n in self.values if n not in names] if function is not None else []
        if wrong:
            have = ", ".join("%" + n for n in names) or "none"
            notes = [(f"the parameters are {have}", f"the value of %{n} is from {self.origins[n]}") for n in wrong]
            raise IrError(
                Diagnostic(f"there is no parameter %{n}", notes=note, help=nearest(n, names))
                for n, note in zip(wrong, notes, strict=True)
            )

    def bind(self, module: Module, entry: str, say: Callable[[Diagnostic], None] | None = None) -> Module:
        """The same with weights as constants."""
        from ..passes.core.bind import bind_params

        module = self.specialize(module, entry, say)
        return bind_params(module, self.weights, entry) if self.params or self.bound or self.fixed else module

    def apply(self, module: Module, entry: str | None, say: Callable[[Diagnostic], None] | None = None) -> Module:
        """The same for the function that `entry_of` tells; the module itself where neither values nor an entry are given."""
        return self.bind(module, entry_of(module, entry), say) if self or entry else module

    def key(self) -> tuple[object, ...]:
        """A key that is equal for equal facts and contents of files."""
        from ..symbolic_int import symbols_of

        fact_items = (
            *(sorted(facts.items()) for facts in (self.shapes, self.dtypes, self.single, self.dims, self.fixed)),
            symbols_of([*self.dims.values(), *(d for shape in self.shapes.values() for d in shape)]),
            self.states if isinstance(self.states, str) else sorted(self.states.items()),
        )
        files = (self.params, self.inputs, tuple(self.single.values()))
        return (*fact_items, *[tuple(map(digest, paths)) for paths in files])


def entry_of(module: Module, entry: str | None) -> str:
    """The function whose parameters are spoken of: the named one, else `main`, else the only one. Raises IrError."""
    from ..diagnostics import IrError, nearest

    functions = list(module.relay_functions)
    name = entry or ("main" if len(functions) != 1 else functions[0])
    if name not in functions:
        have = ", ".join("@" + n for n in functions) or "none"
        raise IrError(f"there is no function @{name} (the module has {have})", help=nearest(name, functions))
    return name


def _shapes(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, tuple[Extent, ...]]:
    """Names and shapes in `NAME=1,3,224,224` or `NAME=1x3x224x224`; `NAME=` and `NAME=()` are scalars, `?<=8` and `n<=8` lengths of the run."""
    from ..diagnostics import UsageError

    result: dict[str, tuple[Extent, ...]] = {}
    for item in items:
        name, equals, dims = item.partition("=")
        separator = "x" if re.fullmatch(r"\s*\d+(x\d+)+\s*", dims) else ","
        texts = [d for d in dims.strip().removeprefix("(").removesuffix(")").split(separator) if d.strip()]
        extents = [_extent(d, item) for d in texts] if equals else []
        if not equals or None in extents:
            raise UsageError(
                f"cannot read the shape {item!r}", help="write NAME=1,3,224,224, or ?<=8 for an extent", code=BadValue
            )
        _once(result, _name(name), "--shape")
        result[_name(name)] = tuple(d for d in extents if d is not None)
    return result


def _extent(text: str, item: str) -> Extent | None:
    """An extent of `--shape`. A number alone is read without the module for lengths of the run."""
    if text.strip().isdecimal():
        return int(text)
    from ..driver.extents import read_extent

    with _as_bad_value(f"--shape {item}"):
        return read_extent(text)


def _dims(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, Extent]:
    """Names and extents in `NAME`, `NAME=1`, `NAME<=512`, `8<=NAME<=512:8`, `NAME=1|4|8` and `NAME=past+seq`, also several with commas between them."""
    from ..diagnostics import UsageError

    result: dict[str, Extent] = {}
    for item in items:
        parts = item.split(",")
        for part in parts if all(re.search(r"\S\s*<?=\s*\S|^\s*[A-Za-z_][\w.]*\s*$", p) for p in parts) else [item]:
            name, extent = _dim(part)
            if name in result:
                raise UsageError(f"--dim is given twice for {name}", code=ClashingOptions)
            result[name] = extent
    return result


def _dim(item: str) -> tuple[str, Extent]:
    from ..diagnostics import UsageError

    if "<" in item or "|" in item:
        from ..driver.extents import read_bounds

        with _as_bad_value(f"--dim {item}"):
            length = read_bounds(item)
        if length is None:
            raise UsageError(
                f"cannot read the dimension {item!r}", help="write NAME=1, NAME<=512 or NAME=1|4|8", code=BadValue
            )
        return length.name, length
    name, equals, extent = item.rpartition("=")
    if not equals and re.fullmatch(r"\s*[A-Za-z_][\w.]*\s*", item):
        from ..driver.extents import Length

        return item.strip(), Length(item.strip())
    if name and not extent.strip().isdecimal():
        from ..infer.extent_formulas import read_formula

        formula = read_formula(extent)
        if formula is not None:
            return name.strip(), formula
    if not name or not extent.strip().isdecimal() or not int(extent):
        is_none = extent.strip().isdecimal() and name
        message = f"the dimension {name} cannot be 0: nothing would be left to compute" if is_none else ""
        help = "write NAME=1, or NAME<=512 for a length that the run decides"
        raise UsageError(message or f"cannot read the dimension {item!r}", help=help, code=BadValue)
    return name.strip(), int(extent)


@contextmanager
def _as_bad_value(what: str) -> Iterator[None]:
    """Names the option in errors about its value."""
    from ..diagnostics import UsageError

    try:
        yield
    except UsageError as error:
        d = error.diagnostics[0]
        raise UsageError(f"{what}: {d.message}", help=d.help, code=BadValue) from None


def _settled(shapes: Mapping[str, tuple[Extent, ...]], dims: Mapping[str, Extent]) -> tuple[Any, Any]:
    """Shapes and dimensions with a symbolic extent for each length of the run."""
    if all(isinstance(d, int) for d in (*dims.values(), *(d for s in shapes.values() for d in s))):
        return shapes, dims
    from ..driver.extents import settle_lengths

    options = [*(["--shape"] if shapes else []), *(["--dim"] if dims else [])]
    with _as_bad_value(" and ".join(options)):
        return settle_lengths(shapes, dims)


def _dtypes(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
    result: dict[str, str] = {}
    if not items:
        return result
    from ..diagnostics import UsageError
    from ..ir.dtypes import is_dtype

    for item in items:
        name, equals, dtype = item.partition("=")
        if not equals or not is_dtype(dtype.strip()):
            raise UsageError(f"cannot read the dtype {item!r}", help="write NAME=float32", code=BadValue)
        _once(result, _name(name), "--dtype")
        result[_name(name)] = dtype.strip()
    return result


def _single(ctx: click.Context, option: click.Parameter, items: tuple[str, ...]) -> dict[str, str]:
    result: dict[str, str] = {}
    for item in items:
        name, equals, path = item.partition("=")
        if not equals:
            raise WrongUsage(f"--input {item!r} is not NAME=FILE.npy or NAME=FILE.npz", BadValue)
        _once(result, _name(name), "--input")
        result[_name(name)] = path
    return result


def _once(param_facts: Mapping[str, Any], name: str, option: str) -> None:
    """Raises UsageError if an option speaks of the name again."""
    from ..diagnostics import UsageError

    if name in param_facts:
        raise UsageError(f"{option} is given twice for %{name}", help="each parameter has one", code=ClashingOptions)


def _name(text: str) -> str:
    return text.strip().removeprefix("%")


def digest(path: str) -> str:
    """A digest of the contents of a file, or of the files in a folder; empty if it cannot be read."""
    import os

    from ..driver.cache_folder import file_digest
    from ..files import open_file

    try:
        if os.path.isdir(path):
            return " ".join(f"{name}={digest(os.path.join(path, name))}" for name in sorted(os.listdir(path)))
        with open_file(path) as file:
            return file_digest(file)
    except OSError:
        return ""


_SHAPE = click.option(
    "--shape",
    "shapes",
    multiple=True,
    callback=_shapes,
    metavar="NAME=1,3,224,224",
    help="Shape of a dynamic or untyped parameter, also as 1x3x224x224; t.0=4 for a tuple field. "
    "x=?<=8,512 or x=batch<=8,512: the run decides an extent, up to a bound, x=?,512 without one; x=3,h<=256:4 in steps of 4; x=past+seq of others.",
)
_DIM = click.option(
    "--dim",
    "dims",
    multiple=True,
    callback=_dims,
    metavar="NAME=1",
    help="Extent of a dimension that has a name in an ONNX model, or in the text that `import` wrote; "
    "NAME<=512 or 2<=NAME<=512: the run decides it, within these bounds; 8<=NAME<=512:8 in steps of 8; NAME=1|4|8: one of these, each with "
    "kernels of its own; NAME alone: without a bound. Repeatable.",
)
_VALUE = click.option(
    "--value",
    "fixed",
    type=param_types.NAMED,
    multiple=True,
    callback=read_fixed,
    metavar="NAME=VALUE",
    help="Make a parameter a constant: a number, numbers with commas between them, or an .npy or .npz file. Repeatable.",
)
_PRELUDE = click.option(
    "--prelude",
    is_flag=True,
    help="Take definitions of TVM's prelude (List, @map …) that a text uses without having them, and say nothing about it.",
)
_DTYPE_OPTION = click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    callback=_dtypes,
    metavar="NAME=float32",
    help="Dtype of an untyped parameter.",
)
_PARAMS = click.option(
    "--params",
    type=param_types.READ,
    multiple=True,
    metavar="FILE",
    help="Weights by parameter name, from .npz, .params, .safetensors (or its index.json) or .gguf, bound as constants before type inference. "
    "Repeatable. Of an ONNX model they replace its own.",
)


def shape_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--shape`, `--dim`, `--value` and `--prelude` alone, for commands that look at a module as it stands; they get one `ParamFacts`, `param_facts`."""

    @functools.wraps(function)
    def wrapped(*args: Any, shapes: Any, dims: Any, fixed: Any, prelude: bool, **rest: Any) -> Any:
        shapes, dims = _settled(shapes, dims)
        return function(*args, param_facts=ParamFacts(shapes, dims=dims, fixed=fixed, prelude=prelude), **rest)

    return _SHAPE(_DIM(_VALUE(_PRELUDE(wrapped))))


ARRAYS = "Types of untyped parameters, by name, from the arrays in a .npz or .params file; values are ignored."
"""The help of `--inputs` where only types are wanted."""

ONE_ARRAY = "The same for one parameter, from a .npy file or the array of that name in an .npz file."

entry_option = click.option(
    "--entry",
    type=param_types.FUNCTION,
    default=None,
    metavar="FUNCTION",
    help="The function whose parameters --shape, --dtype, --params and --inputs name. Default: main, or the only one.",
)
"""`--entry` of commands that treat all functions alike."""


def main_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--entry` for commands that run, measure or change one function, `main` by default; they get `entry`."""
    return click.option(
        "--entry", type=param_types.FUNCTION, default="main", show_default=True, metavar="FUNCTION", help=help
    )


def type_options(inputs: str, single: str | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--shape`, `--dim`, `--value`, `--prelude`, `--dtype`, `--params`, `--inputs` (with this help) and, if `single` is its help, `--input`.

    The command gets one `ParamFacts`, `param_facts`, in their place.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(
            *args: Any,
            shapes: Any,
            dims: Any,
            fixed: Any,
            prelude: bool,
            dtypes: Any,
            params: Any,
            arrays: Any,
            **rest: Any,
        ) -> Any:
            files = rest.pop("single") if single is not None else {}
            shapes, dims = _settled(shapes, dims)
            known = ParamFacts(shapes, dtypes, params, arrays, files, dims, fixed=fixed, prelude=prelude)
            return function(*args, param_facts=known, **rest)

        if single is not None:
            wrapped = click.option(
                "--input",
                "single",
                type=param_types.NAMED,
                multiple=True,
                callback=_single,
                metavar="NAME=FILE.npy",
                help=single,
            )(wrapped)
        wrapped = click.option(
            "--inputs",
            "arrays",
            type=param_types.READ,
            multiple=True,
            metavar="FILE",
            help=f"{inputs} Repeatable.",
        )(wrapped)
        return _SHAPE(_DIM(_VALUE(_PRELUDE(_DTYPE_OPTION(_PARAMS(wrapped))))))

    return add


__all__ = [
    "ARRAYS",
    "ONE_ARRAY",
    "ParamFacts",
    "digest",
    "entry_of",
    "entry_option",
    "main_option",
    "shape_options",
    "type_options",
]
