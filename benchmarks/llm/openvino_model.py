"""The OpenVINO model that OpenVINO GenAI makes of a GGUF file, beside the file: `python -m benchmarks.llm.openvino_model FILE`, where that
package is installed. The package keeps the blocks: integers of the same bits with scales in float16."""

from __future__ import annotations

import sys


def main(path: str) -> None:
    """Writes openvino_model.xml and its weights, and those of the tokenizer."""
    import openvino_genai

    openvino_genai.LLMPipeline(path, "CPU", enable_save_ov_model=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
