"""Names of TVM's Python API that have no equal here, and their replacements.

A name that means the same is an alias where it belongs (`Var.name_hint`, `relay.build`). A row of this table is for the others:
whoever uses such a name gets an AttributeError that says what to write.
"""

from __future__ import annotations

from typing import Any

from ..diagnostics import nearest

PAGE = "docs/coming-from-tvm.md has the names side by side"

_OF_THE_PACKAGE = {
    "autotvm": "the command `irtool tune`",
    "auto_scheduler": "the command `irtool tune`",
    "meta_schedule": "the command `irtool tune`",
    "micro": "irtool.build(…, emit='mlf')",
    "rpc": "the command `irtool bench --runner`",
    "script": "irtool.parse(text)",
    "register_func": "a plug-in (docs/extending.md)",
    "get_global_func": "irtool.plugin, or the function itself",
    "relax": "Relay; the command `irtool export --to=relax` writes Relax",
}
"""Names of `tvm` that neither `irtool` nor `irtool.relay.tvm`, which stands in for it, has."""

COUNTERPARTS: dict[str, dict[str, str]] = {
    "module": {
        "update": "mod = mod.with_functions({**mod.functions, **other.functions})",
        "update_func": "mod = mod.with_function(name, function)",
        "get_type": "mod.type_definitions[name]",
        "get_global_type_var": "mod.type_definitions[name]",
        "get_constructor": "mod.constructors[name]",
        "from_relay_expr": "irtool.Module.from_expr(expr)",
        "with_attr": "mod.with_attrs({**mod.attrs, key: value})",
        "get_attr": "mod.attrs.get(key)",
        "script": "irtool.to_text(mod)",
        "show": "print(mod)",
        "deepcopy": "mod itself: modules are values that never change",
    },
    "expression": {
        "vid": "the variable itself: variables are compared by identity",
        "handle": "the node itself: there are no handles",
        "asnumpy": "constant.data, a numpy array",
        "numpy": "constant.data, a numpy array",
        "struct_info": "e.checked_type",
        "get_attr": "f.attrs.get(key)",
        "shape": "e.checked_type.shape",
        "dtype": "e.checked_type.dtype",
        "script": "irtool.to_text(e)",
    },
    "int": {
        "value": "the integer itself: extents and attributes are Python's integers",
    },
    "ndarray": {
        "numpy": "the array itself: the data of constants, and results, are numpy arrays",
        "asnumpy": "the array itself: the data of constants, and results, are numpy arrays",
        "copyto": "numpy.copyto(other, array)",
        "copyfrom": "array[...] = other",
        "handle": "array.ctypes.data",
    },
    "build": {
        "export_library": "lib.save(folder), and irtool.load(folder) where it is used",
        "get_lib": "lib.files, the paths of the library and its weights",
        "lib": "lib.files, the paths of the library and its weights",
        "ir_mod": "lib.prepared",
        "get_irmodule": "lib.prepared, the module after its passes",
        "get_executor_config": "lib.graph_json()",
        "executor_codegen_metadata": "lib.report",
        "get_executor_codegen_metadata": "lib.report",
        "get_devices": "nothing: a build is for one processor",
        "imported_modules": "lib.files",
        "get_source": "open(lib.files[0]).read() of a build with emit='c'",
        "time_evaluator": "the command `irtool bench`",
        "get_function": "lib.run(inputs, entry=name)",
        "entry_func": "lib.run(inputs)",
        "evaluate": "lib.run(inputs)",
        "benchmark": "the command `irtool bench`",
        "set_input": 'lib.run({"data": array}), or lib["default"](device) first',
        "get_output": 'output = lib.run({"data": array}), or lib["default"](device) first',
    },
    "relay": {
        "frontend": "irtool.from_onnx(model, shapes); other frameworks export ONNX",
        "load_json": "pickle.loads, or irtool.parse of text",
        "fromtext": "irtool.parse(text)",
        "bind": "irtool.ir.substitute(expr, {variable: value})",
        "backend": "irtool.lower and irtool.driver; relay.build(…, executor=, runtime=) takes names",
        "collage": "PartitionGraph with MergeComposite",
        "param_dict": "relay.save_param_dict, relay.load_param_dict",
        "optimize": 'irtool.run_passes(mod, "default<O3>", target=…)',
        "TypeFunctor": "irtool.ir.types, with isinstance",
        "TypeVisitor": "irtool.ir.types, with isinstance",
        "TypeMutator": "irtool.ir.types, with isinstance",
        "TypeRelation": "the method `relate` of an operator (docs/adding-an-operator.md)",
        "prelude": "mod.import_from_std('prelude.rly')",
        "Prelude": "mod.import_from_std('prelude.rly')",
        "quantize": "irtool.quantize(module, …)",
        "adt": "irtool.ir.adt",
        "ADT": "irtool.ir.adt",
    },
    "irtool": {
        **_OF_THE_PACKAGE,
        "cpu": "nothing: builds run on this processor; `from irtool.relay import tvm` has tvm.cpu",
        "cuda": "irtool.Target('cuda') to lower and print; builds are for processors",
        "gpu": "irtool.Target('cuda') to lower and print; builds are for processors",
        "device": "nothing: builds run on this processor; `from irtool.relay import tvm` has tvm.device",
        "nd": "numpy arrays; `from irtool.relay import tvm` has tvm.nd",
        "transform": "irtool.passes; `from irtool.relay import tvm` has tvm.transform",
        "target": "irtool.Target; `from irtool.relay import tvm` has tvm.target",
        "runtime": "irtool.load(folder)",
        "contrib": "irtool.relay.tvm.contrib",
    },
    "tvm": {
        **_OF_THE_PACKAGE,
        "lower": "irtool.create_schedule(irtool.lower_call(…)).lower()",
        "build": "irtool.build(mod, params, target), or relay.build",
        "driver": "the command `irtool build`",
        "topi": "the method `compute` of operators",
        "cuda": "tvm.cpu: builds run on processors",
        "gpu": "tvm.cpu: builds run on processors",
    },
}
"""By kind of object: TVM's name, and its replacement."""

_KINDS = {"Module": "module", "Artifact": "build"}


def counterpart(kind: str, name: str) -> str:
    """The counterpart of a name of TVM's, as a sentence; empty for a name that no row has."""
    replacement = COUNTERPARTS[kind].get(name)
    return f"TVM's {name} is not here; write {replacement} ({PAGE})" if replacement else ""


def missing_attribute(thing: Any, name: str) -> AttributeError:
    """The error for an attribute that `thing` (a node, a module, a build) does not have."""
    cls = type(thing)
    message = f"{cls.__name__!r} object has no attribute {name!r}"
    if not name.startswith("_"):
        hint = counterpart(_KINDS.get(cls.__name__, "expression"), name)
        hint = hint or nearest(name, [n for n in dir(cls) if not n.startswith("_")])
        message += f": {hint}" if hint else ""
    return AttributeError(message, name=name, obj=thing)
