"""The function behind each hook of `hooks.py`. Only this table and the registries of plug-ins name modules of higher layers."""

from __future__ import annotations

PROVIDERS = {
    "ir.text_of": "irtool.printer.text:text_of",
    "ir.to_text": "irtool.printer.text:to_text",
    "ir.to_html": "irtool.printer.html:to_html",
    "ir.show_expr": "irtool.ir.show:show_expr",
    "ir.show_type": "irtool.ir.show:show_type",
    "ir.freeze": "irtool.ir.pickling:freeze",
    "ir.missing_attribute": "irtool.ir.tvm_names:missing_attribute",
    "ir.operator": "irtool.ops.base:Operator",
    "ir.operator_type": "irtool.ops.base:OperatorType",
    "ir.operators": "irtool.ops.base:operators",
    "ir.op": "irtool.ops.base:op",
    "ir.call": "irtool.ops.base:call",
    "ir.as_expr": "irtool.relay.literals:as_expr",
    "ir.binary": "irtool.relay.arithmetic:binary",
    "ir.negative": "irtool.relay.arithmetic:negative",
    "ir.count_fields": "irtool.relay.arithmetic:field_count",
    "ir.standard_library": "irtool.parser.text:standard_library",
    "tir.show_expr": "irtool.tir.show:show_expr",
    "tir.show_stmt": "irtool.tir.show:show_stmt",
    "tir.show_function": "irtool.tir.show:show_function",
    "tir.structural_words": "irtool.tir.structure:structural_words",
    "ops.settle": "irtool.frontends.onnx.resolve_nodes:settle",
    "ops.settle_call": "irtool.frontends.onnx.resolve_nodes:settle_call",
    "passes.run_pass": "irtool.passes.core.runner:run_pass",
    "passes.run_in_sequence": "irtool.passes.core.runner:run_in_sequence",
    "passes.matches": "irtool.passes.dataflow.matching:matches",
    "passes.partition": "irtool.relay.dataflow_pattern:partition",
    "driver.lower_to_int8": "irtool.quantization.lowering:lower_to_int8",
    "driver.graph_executor": "irtool.relay.tvm.contrib.graph_executor:factory",
    "driver.save": "irtool.driver.saved:save",
    "driver.contents": "irtool.driver.saved:contents",
    "driver.unpack": "irtool.driver.loading:unpack",
}
"""`MODULE:NAME` by the name of the hook."""
