"""Operators of the domain ai.onnx.ml: models of classical learning, as skl2onnx and onnxmltools write them."""
