"""Operators of the domain com.microsoft: results of ONNX Runtime's optimizer, also written by some exporters."""
