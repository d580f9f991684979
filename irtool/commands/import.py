"""`irtool import`: writes a model of another format as Relay text, and its weights beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from . import param_types
from .fixed_values import fixed_arrays
from .mistakes import BadValue
from .param_facts import ParamFacts, shape_options
from .printing import types_option
from .source import file_or_stdin
from .text_and_weights import EMBEDDED, check_options, optional_weights_options, print_text, write_with_weights
from .wrong_usage import Command


@click.command(name="import", cls=Command, short_help="Write a model as Relay text and its weights.")
@click.argument("file", type=param_types.MODULE, required=False, callback=file_or_stdin)
@optional_weights_options
@shape_options
@types_option
@click.option("--spans", is_flag=True, help="Print which node of the model each expression is from.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing on success.")
def command(
    file: str,
    output: str | None,
    params_format: str,
    params_out: str | None,
    param_facts: ParamFacts,
    types: str,
    spans: bool,
    quiet: bool,
) -> None:
    """Write a model as Relay text, with its weights as parameters of @main. Both files are written, or neither.

    FILE is a model of ONNX, binary or in the syntax of onnx.parser, of TensorFlow Lite, or a language model in a GGUF file; `-` is standard input.
    Commands that take Relay text take models, too: this one is for looking at the text, or changing it.

    \b
    Examples:
      irtool import model.onnx
      irtool import model.onnx --dim batch=1 -o model.relay
      irtool import model.gguf --dim 'context<=2048'
      irtool build model.relay --params model.npz -o out/
    """
    from ..diagnostics import UsageError
    from ..frontends.gguf import from_gguf
    from ..frontends.onnx import from_onnx
    from ..frontends.tflite import from_tflite
    from ..passes.core.bind import bind_params
    from ..printer import to_text
    from .gguf_input import GgufInput
    from .input_module import read_input
    from .onnx_input import OnnxInput
    from .progress import progress_bar
    from .tflite_input import TfliteInput
    from .warning_flags import warn

    check_options(output, params_format, params_out)
    input_file = read_input(file)
    embedded = params_format == EMBEDDED
    fixed = fixed_arrays(param_facts.fixed)
    weights: Mapping[str, Any]
    with progress_bar("importing") as step:
        if isinstance(input_file, OnnxInput):
            module, weights = from_onnx(
                input_file.load(),
                param_facts.shapes,
                param_facts.dims,
                constants=embedded,
                values=fixed,
                progress=step,
                say=warn,
                open_extents=True,
            )
        elif isinstance(input_file, TfliteInput):
            module, weights = from_tflite(
                input_file.load(), param_facts.shapes, constants=embedded, values=fixed, progress=step, say=warn
            )
        elif isinstance(input_file, GgufInput):
            module, weights = from_gguf(input_file.load(), param_facts.dims)
            module = bind_params(module, weights) if embedded else module
        else:
            raise UsageError(
                f"{input_file.name} is Relay text already: import reads models of ONNX, TensorFlow Lite and GGUF",
                code=BadValue,
            )
    text = to_text(module, types=types, spans=spans)
    if output is None and params_out is None:
        print_text(text, {} if params_format == EMBEDDED else weights, quiet)
    else:
        write_with_weights(output or "-", text, params_format, params_out, weights, quiet)
