"""Language models beside llama.cpp, ONNX Runtime GenAI and OpenVINO GenAI: random weights in the same GGUF file, formats and shapes of known networks.

    python -m benchmarks.llm --peers .venv-llm/bin/python            all configurations
    python -m benchmarks.llm --peers … --only SmolLM-135M            one of them
    python -m benchmarks.llm --peers … --write                       docs/compare_llm.md, too; `make compare-llm`

configurations  the shapes
random_model    a GGUF file of a configuration; runs where the package gguf is
own_build       the build of irtool
onnx_model, openvino_model   the models of the other libraries, made of that file
worker          an engine in a process of its own; runs without packages but the engine's
irtool_engine, llama_cpp_engine, onnxruntime_genai_engine, openvino_genai_engine   the engines
memory_rate     the rate at which memory is read
divergence      tokens and logits with activations and caches of 8 bits beside exact ones
page            docs/compare_llm.md
"""
