"""Operators of the domain com.microsoft: what ONNX Runtime's optimizer makes of ONNX's own, and some exporters write."""
