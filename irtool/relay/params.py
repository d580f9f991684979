"""Weights as TVM's scripts handle them: saved as bytes, and put into functions and modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import Function, Module
from ..parser.params import decode_params, encode_params
from ..passes.core.bind import bind_params


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """The bytes of a `.params` file. Raises IrError for a dtype that it cannot hold."""
    return encode_params(params)


def load_param_dict(param_bytes: bytes) -> dict[str, Any]:
    """The arrays of a `.params` file by name. Raises ValueError if the bytes are damaged."""
    return decode_params(bytes(param_bytes))


def bind_params_by_name(func: Function | Module, params: Mapping[str, Any]) -> Any:
    """The function, or the module with its `@main`, with parameters replaced by constants; names of no parameter are left out.

    Raises IrError for a wrong shape or dtype.
    """
    module = Module.of(func)
    names = {p.name for p in module["main"].params}
    bound = bind_params(module, {n: v for n, v in params.items() if n in names})
    return bound if isinstance(func, Module) else bound["main"]
