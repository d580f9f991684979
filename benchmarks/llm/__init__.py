"""Language models beside llama.cpp: random weights in the same GGUF file, formats and shapes of known networks.

    python -m benchmarks.llm --peers .venv-llm/bin/python            all configurations
    python -m benchmarks.llm --peers … --only SmolLM-135M            one of them
    python -m benchmarks.llm --peers … --write                       docs/compare_llm.md, too; `make compare-llm`

configurations  the shapes
random_model    a GGUF file of a configuration; runs where the package gguf is
own_build       the build of irtool
worker          an engine in a process of its own; runs without packages but the engine's
llama_cpp_engine, irtool_engine   the engines
divergence      tokens and logits with activations and caches of 8 bits beside exact ones
page            docs/compare_llm.md
"""
