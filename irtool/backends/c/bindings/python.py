"""The module of a Python package, which calls `NAME.so` beside it by ctypes, with numpy and nothing else."""

from __future__ import annotations

import keyword
import re

from ....diagnostics import UsageError
from ....symbolic_int import SymbolicInt, symbols_of
from ...c_types import stored_type
from ...interface.entry import EntryPoint, Parameter
from .network import BoundNetwork, type_text

_OWN_NAMES = frozenset({"self", "np", "ctypes", "ERRORS", "INPUTS", "OUTPUTS", "Network", "NetworkError", "Tensor"})

_HEAD = '''\
from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["INPUTS", "OUTPUTS", "Network", "NetworkError", "Tensor"]


class Tensor(NamedTuple):
    """The name, dtype and shape of an input or an output; a length that a run decides is a text."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


class NetworkError(ValueError):
    """An error of a run, with its number in `code`; 0 for arguments that are refused before it."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(f"@NAME@: {message}")
        self.code = code

'''

_CHECKS = '''\
_library = ctypes.CDLL(str(Path(__file__).resolve().with_name("@NAME@.so")))


def _check(code: int) -> None:
    if code:
        raise NetworkError(_ERRORS.get(code, f"error {code}"), code)


def _array(value: ArrayLike, name: str, described: str, dtype: str, rank: int) -> NDArray[Any]:
    """An array of any library as one of numpy, without a copy if it is contiguous in the processor's memory."""
    try:
        takes_over = not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__")
        array = np.from_dlpack(value) if takes_over else np.asarray(value)  # type: ignore[arg-type]  # it has __dlpack__
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise NetworkError(f"{name} is {described}: {error}") from None
    if array.dtype != dtype or array.ndim != rank:
        raise NetworkError(f"{name} is {described}: {array.dtype}{list(array.shape)} is no such array")
    return np.ascontiguousarray(array)


def _check_shape(array: NDArray[Any], name: str, described: str, shape: tuple[int, ...]) -> None:
    if array.size != np.prod(shape, dtype=np.int64) or (shape and array.shape != shape):
        raise NetworkError(f"{name} is {described}: the shape {list(array.shape)} is not {list(shape)}")


'''

_STATES = '''\

    def reset(self) -> None:
        """Gives the states their first values."""
        _check(_init(self._net.ctypes.data))

    def save(self) -> bytes:
        """The states, for `restore`."""
        saved = np.empty(@BYTES@, np.uint8)
        _check(_state(self._net.ctypes.data, saved.ctypes.data, None))
        return saved.tobytes()

    def restore(self, saved: bytes) -> None:
        """Takes the states that `save` gave; other bytes change nothing."""
        content = np.frombuffer(saved, np.uint8)
        if content.size != @BYTES@:
            raise NetworkError(f"the saved states have @BYTES@ bytes, not {content.size}")
        _check(_state(self._net.ctypes.data, None, content.ctypes.data))
'''


def write_python(network: BoundNetwork) -> str:
    """The text of the module. Raises UsageError for results with extents that values decide."""
    name, first = network.name, network.entries[0]
    for entry in network.entries:
        _check_extents(entry)
    instance = first.instance
    words = -(-instance.nbytes // 8) if instance is not None else 0
    text = [
        '"""' + "\n".join(_in_docstring(line) for line in network.banner) + '\n"""\n\n',
        _HEAD.replace("@NAME@", name),
        f"\nINPUTS = {_tensors(first.inputs)}\nOUTPUTS = {_tensors(first.outputs)}\n",
        f"_ERRORS = {_errors(network)}\n",
        _CHECKS.replace("@NAME@", name),
        *(_function(entry, network) for entry in network.entries),
    ]
    if instance is not None:
        text.append(f"_init = _library.{name}_init\n_init.argtypes = [ctypes.c_void_p]\n")
        text.append(f"_state = _library.{name}_state\n_state.argtypes = [ctypes.c_void_p] * 3\n")
    if network.has_weights:
        text.append(f'_check(_library.{name}_load_weights(bytes(Path(__file__).resolve().with_name("{name}.bin"))))\n')
    text += [
        '\n\nclass Network:\n    """The network with a workspace of its own: one for each thread."""\n\n',
        "    def __init__(self) -> None:\n",
        f"        self._arena = np.empty({network.arena_bytes}, np.uint8)\n",
    ]
    if instance is not None:
        text.append(f"        self._net = np.zeros({words}, np.uint64)\n        self.reset()\n")
    text += [_run(entry, network) for entry in network.entries]
    if instance is not None:
        text.append(_STATES.replace("@BYTES@", str(instance.saved_bytes)))
    return "".join(text)


def _check_extents(entry: EntryPoint) -> None:
    for p in entry.tensors:
        if any(isinstance(d, SymbolicInt) and set(symbols_of([d])) - set(entry.symbols) for d in p.slot.shape):
            raise UsageError(
                f"the module for Python has results of shapes that those of the arguments decide, and {p.name}, {type_text(p)}, has another one"
            )


def _in_docstring(line: str) -> str:
    return line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').rstrip()


def _tensors(parameters: tuple[Parameter, ...]) -> str:
    items = [f"    Tensor({p.name!r}, {_dtype(p)!r}, {_shape_facts(p)}),\n" for p in parameters]
    return f"(\n{''.join(items)})" if items else "()"


def _shape_facts(p: Parameter) -> str:
    extents = [repr(str(d)) if isinstance(d, SymbolicInt) else str(d) for d in p.slot.shape]
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


def _errors(network: BoundNetwork) -> str:
    items = [f"    {code}: {message!r},\n" for code, message in network.errors.items()]
    return f"{{\n{''.join(items)}}}\n"


def _function(entry: EntryPoint, network: BoundNetwork) -> str:
    name = f"_{network.method(entry)}"
    kinds = ["ctypes.c_void_p", "ctypes.c_size_t"]
    kinds += ["ctypes.c_void_p"] if entry.instance is not None else []
    lengths = f", *[ctypes.c_int64] * {len(entry.symbols)}" if entry.symbols else ""
    tensors = f", *[ctypes.c_void_p] * {len(entry.tensors)}"
    return f"{name} = _library.{entry.run_with}\n{name}.argtypes = [{', '.join(kinds)}{lengths}{tensors}]\n"


def _run(entry: EntryPoint, network: BoundNetwork) -> str:
    method = network.method(entry)
    names = _Names([*(p.name for p in entry.tensors), *(s.name for s in entry.symbols)])
    derived = _derived_lengths(entry, names)
    passed = [s for s in entry.symbols if s.name not in derived]
    parameters = [f"{names[p.name]}: ArrayLike" for p in entry.inputs]
    keywords = [f"{names[s.name]}: int" for s in passed]
    parameters += ["*", *keywords] if keywords else []
    results = [f"NDArray[np.{_numpy(p)}]" for p in entry.outputs]
    returned = results[0] if len(results) == 1 else f"tuple[{', '.join(results) or '()'}]"
    what = "A step" if entry.instance is not None else "A run"
    signature = ", ".join(["self", *parameters])
    lines = [f"def {method}({signature}) -> {returned}:", f'    """{what}: {_signature_text(entry)}."""']
    for p in entry.inputs:
        described = repr(_described(p))
        lines.append(
            f"    {names[p.name]}_ = _array({names[p.name]}, {p.name!r}, {described}, {_dtype(p)!r}, {len(p.slot.shape)})"
        )
    lines += [f"    {names[length]} = {source}" for length, source in derived.items()]
    for p in entry.inputs:
        lines.append(f"    _check_shape({names[p.name]}_, {p.name!r}, {_described(p)!r}, {_extents(p, names)})")
    lines += [f"    {names[p.name]} = np.empty({_extents(p, names)}, np.{_numpy(p)})" for p in entry.outputs]
    arguments = ["self._arena.ctypes.data", "self._arena.nbytes"]
    arguments += ["self._net.ctypes.data"] if entry.instance is not None else []
    arguments += [names[s.name] for s in entry.symbols]
    arguments += [f"{names[p.name]}_.ctypes.data" for p in entry.inputs]
    arguments += [f"{names[p.name]}.ctypes.data" for p in entry.outputs]
    lines.append(f"    _check(_{method}({', '.join(arguments)}))")
    outputs = [names[p.name] for p in entry.outputs]
    lines.append(f"    return {outputs[0] if len(outputs) == 1 else '(' + ', '.join(outputs) + ')'}")
    return "\n" + "".join(f"    {line}\n" for line in lines)


def _signature_text(entry: EntryPoint) -> str:
    inputs = ", ".join(f"{p.name} {_described(p)}" for p in entry.inputs)
    outputs = ", ".join(f"{p.name} {_described(p)}" for p in entry.outputs)
    return _in_docstring(f"{inputs or 'nothing'} to {outputs or 'nothing'}")


def _described(p: Parameter) -> str:
    """`float32[1, 3]`; halves of bfloat16 are the bits in integers."""
    bits = f", the bits as {_dtype(p)}" if _dtype(p) != p.slot.dtype else ""
    return f"{type_text(p)}{bits}"


class _Names(dict[str, str]):
    """Names of Python for those of C, each another one."""

    def __init__(self, texts: list[str]) -> None:
        super().__init__()
        used = set(_OWN_NAMES)
        for text in texts:
            name = text
            while name in used or keyword.iskeyword(name) or name.startswith("__") or f"{name}_" in used:
                name += "_"
            used |= {name, f"{name}_"}  # the array of an argument has a _ more
            self[text] = name


def _derived_lengths(entry: EntryPoint, names: _Names) -> dict[str, str]:
    """The lengths that are extents of an input, by name, each with the expression of the first such extent."""
    derived: dict[str, str] = {}
    known = {s.name for s in entry.symbols}
    for p in entry.inputs:
        for axis, extent in enumerate(p.slot.shape):
            if isinstance(extent, SymbolicInt) and str(extent) in known:
                derived.setdefault(str(extent), f"{names[p.name]}_.shape[{axis}]")
    return derived


def _extents(p: Parameter, names: _Names) -> str:
    extents = [_formula(str(d), names) if isinstance(d, SymbolicInt) else str(d) for d in p.slot.shape]
    return f"({', '.join(extents)}{',' if len(extents) == 1 else ''})"


def _formula(text: str, names: _Names) -> str:
    """A formula of lengths, which are no less than 0, in Python: C's conditional expressions and divisions are written otherwise."""
    while "?" in text:
        text = re.sub(r"\(([^()?:]+) \? ([^()?:]+) : ([^()?:]+)\)", r"[\2 if \1 else \3]", text, count=1)
    text = text.replace("[", "(").replace("]", ")").replace("/", "//")
    return re.sub(r"\b[A-Za-z_]\w*\b", lambda m: m[0] if m[0] in ("if", "else") else names[m[0]], text)


def _dtype(p: Parameter) -> str:
    """The dtype of numpy for a tensor; one that numpy does not have is that of its bits."""
    dtype = p.slot.dtype
    return dtype if dtype in ("bool", "float16") else _numpy_of_stored(stored_type(dtype))


def _numpy_of_stored(stored: str) -> str:
    return {"float": "float32", "double": "float64"}.get(stored, stored.removesuffix("_t"))


def _numpy(p: Parameter) -> str:
    dtype = _dtype(p)
    return "bool_" if dtype == "bool" else dtype
