"""Tiny configurations of architectures of `transformers` through ONNX: exported, imported, built, compared with ONNX Runtime.

    python -m benchmarks.architectures                        all of them, with both exporters of torch
    python -m benchmarks.architectures --only bert,swin       some of them
    python -m benchmarks.architectures --write                docs/architectures.md, too

configurations   the architectures, as small as they still have all of their parts
export           a process that writes an ONNX file of one of them
check            a process that imports, builds and runs a file, and compares
"""
