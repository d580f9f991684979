"""ONNX: a model whose nodes are the operators of a Relay function.

format      the format and its options; the files that it makes
prepare     passes before: entry, static operators, what stands for other Relay
form        conversion of an operator: a class, or a row of a family, found by name
operators   these, one file for each family
site        one call while its nodes are written
emit        expressions: `let`, tuples, `if`, calls
loops       functions that call themselves last
callees, frames, values   functions, their instances, and values while they are written
graph       graphs, names, constants
kernels     element types that ONNX Runtime has kernels for
dtypes      element types
model       the protobuf, and weights beside it
"""
