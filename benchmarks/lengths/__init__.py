"""Networks with lengths that the run decides, through irtool, ONNX Runtime and OpenVINO: `python -m benchmarks.lengths`."""
