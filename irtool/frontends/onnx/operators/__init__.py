"""Operators of ONNX, one class each or for a row of a family. A module is found by the names that it spells."""
