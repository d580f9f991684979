"""irtool beside ONNX Runtime and OpenVINO: the same ONNX files, processes taking turns.

    make compare                                          all networks, 1 and 2 threads, tables and chart written
    python -m benchmarks.compare --only resnet50,gpt2     some of them, printed only
    python -m benchmarks.compare --precision int8         files of ONNX Runtime's static quantizer
    python -m benchmarks.compare --mcpu x86-64-v3         with AVX2, on a processor that has more

export      networks from torch as ONNX files, with inputs
quantized   such networks, quantized by ONNX Runtime
precisions  what engines get and are told in each precision
worker      one engine in a process of its own: loads a model, runs it when told to
older       the other engines without later instructions
turns       workers that take turns, and what they measured
values      quantized values, layer by layer
tables      the results as a table and a chart
"""
