"""Bytes of networks under each value of `--opt`, on disk and in memory, beside ONNX Runtime, with the times of runs.

    python -m benchmarks.sizes --write                  all networks of `benchmarks.compare`; writes the section of docs/compare.md
    python -m benchmarks.sizes --only resnet50,gpt2     some of them, printed only

worker     one build, or one process that runs a build
section    the table, and its place in the page
"""
