"""An ONNX model of a GGUF file for ONNX Runtime GenAI: `python -m benchmarks.llm.onnx_model FILE FOLDER`, where the packages gguf and onnx are installed.

The graph has the operators of ONNX Runtime's own exporter: MatMulNBits with activations of 8 bits (`accuracy_level`), GatherBlockQuantized on the
same weights, GroupQueryAttention with rotary positions. The weights are the blocks of the file with scales in float32, which these operators
take with float32 activations.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .configurations import CONFIGURATIONS, Configuration

BLOCK = 32
CONTEXT = 1024


class _Graph:
    """Nodes and initializers of a model.

    Attributes:
        bits: of a weight.
    """

    def __init__(self, tensors: dict[str, Any], bits: int) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.bits = bits
        self._tensors = tensors
        self._count = 0

    def node(
        self, kind: str, inputs: list[str], outputs: int = 1, domain: str = "com.microsoft", **attributes: Any
    ) -> Any:
        """The name of the output of a new node; a list of names for several."""
        from onnx import helper

        names = []
        for _ in range(outputs):
            self._count += 1
            names.append(f"v{self._count}")
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name: str, values: np.ndarray) -> str:
        """The name of a new initializer."""
        from onnx import numpy_helper

        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def vector(self, name: str) -> np.ndarray:
        """A tensor of floats in the file."""
        return np.asarray(self._tensors[name].data, np.float32)

    def blocks(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Weights (rows, blocks, bytes) in uint8 and scales (rows, blocks) in float32 of matrices, one above the other."""
        parts = []
        for name in names:
            raw = np.asarray(self._tensors[name].data)
            size = 2 + BLOCK * self.bits // 8
            parts.append(raw.reshape(raw.shape[0], -1, size))
        rows = np.concatenate(parts)
        scales = rows[..., :2].copy().view(np.float16)[..., 0].astype(np.float32)
        values = rows[..., 2:]
        if self.bits == 8:
            return values ^ np.uint8(128), scales
        elements = np.concatenate([values & 15, values >> 4], axis=-1)
        return elements[..., ::2] | elements[..., 1::2] << 4, scales

    def product(self, x: str, name: str, names: list[str], bias: np.ndarray | None = None) -> str:
        """The product of rows with matrices, one above the other."""
        values, scales = self.blocks(names)
        inputs = [x, self.constant(f"{name}.q", values), self.constant(f"{name}.s", scales.reshape(-1))]
        if bias is not None:
            inputs += ["", "", self.constant(f"{name}.b", bias)]
        return self.matmul(inputs, values.shape[0], values.shape[1] * BLOCK)

    def matmul(self, inputs: list[str], rows: int, columns: int) -> str:
        """A product by MatMulNBits."""
        return self.node("MatMulNBits", inputs, bits=self.bits, block_size=BLOCK, K=columns, N=rows, accuracy_level=4)


def main(path: str, folder: str) -> None:
    """Writes model.onnx, its data and genai_config.json."""
    import gguf
    import onnx

    name, form = Path(path).parent.name.rsplit("-", 1)
    c = CONFIGURATIONS[name]
    graph = _Graph({t.name: t for t in gguf.GGUFReader(path).tensors}, 4 if form == "Q4_0" else 8)
    model = _model(graph, c)
    Path(folder).mkdir(exist_ok=True)
    onnx.save_model(model, f"{folder}/model.onnx", save_as_external_data=True, location="model.onnx.data")
    Path(folder, "genai_config.json").write_text(json.dumps(_settings(c)), encoding="utf-8")


def _model(graph: _Graph, c: Configuration) -> Any:
    from onnx import TensorProto, helper

    def fixed(name: str, *values: int) -> str:
        return graph.constant(name, np.array(values, np.int64))

    one = fixed("one", 1)
    total = graph.node("Gather", [graph.node("Shape", ["attention_mask"], domain=""), one], domain="", axis=0)
    lengths = graph.node("ReduceSum", ["attention_mask", one], domain="", keepdims=1)
    lengths = graph.node("Cast", [graph.node("Sub", [lengths, one], domain="")], domain="", to=TensorProto.INT32)
    total = graph.node("Cast", [total], domain="", to=TensorProto.INT32)
    values, scales = graph.blocks(["token_embd.weight"])
    table, table_scales = graph.constant("table.q", values.reshape(c.vocabulary, -1)), graph.constant("table.s", scales)
    x = graph.node(
        "GatherBlockQuantized",
        [table, "input_ids", table_scales],
        bits=graph.bits,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    angles = np.arange(CONTEXT)[:, None] / c.base ** (np.arange(c.size // 2) * 2 / c.size)
    turns = [
        graph.constant("cos", np.cos(angles).astype(np.float32)),
        graph.constant("sin", np.sin(angles).astype(np.float32)),
    ]
    heads = {
        "num_heads": c.heads,
        "kv_num_heads": c.groups,
        "do_rotary": 1,
        "rotary_interleaved": int(c.kind == "llama"),
    }
    caches, results = [], []
    skip = x
    for n in range(c.layers):
        layer = f"blk.{n}."
        attention = [f"{layer}attn_{p}" for p in "qkv"]
        y, skip = _norm(graph, x, skip, f"{layer}attn_norm.weight", first=n == 0)
        bias = np.concatenate([graph.vector(f"{a}.bias") for a in attention]) if c.kind == "qwen2" else None
        y = graph.product(y, f"{layer}qkv", [f"{a}.weight" for a in attention], bias)
        past = [f"past_key_values.{n}.{p}" for p in ("key", "value")]
        y, key, value = graph.node("GroupQueryAttention", [y, "", "", *past, lengths, total, *turns], 3, **heads)
        caches += past
        results += [(key, f"present.{n}.key"), (value, f"present.{n}.value")]
        x = graph.product(y, f"{layer}o", [f"{layer}attn_output.weight"])
        y, skip = _norm(graph, x, skip, f"{layer}ffn_norm.weight")
        gate, up = (graph.product(y, f"{layer}{p}", [f"{layer}ffn_{p}.weight"]) for p in ("gate", "up"))
        gate = graph.node("Mul", [gate, graph.node("Sigmoid", [gate], domain="")], domain="")
        x = graph.product(graph.node("Mul", [gate, up], domain=""), f"{layer}down", [f"{layer}ffn_down.weight"])
    y, _ = _norm(graph, x, skip, "output_norm.weight")
    # Logits of the last token alone, as the exporter's option prune_lm_head has it.
    last = [fixed("last", -1), fixed("end", np.iinfo(np.int64).max), one]
    y = graph.node("Slice", [y, *last], domain="")
    shape = fixed("blocks", c.vocabulary, c.width // BLOCK, -1)
    weights = graph.node("Reshape", [table, shape], domain="")
    flat = graph.node("Reshape", [table_scales, fixed("flat", -1)], domain="")
    logits = graph.matmul([y, weights, flat], c.vocabulary, c.width)
    renamed = {logits: "logits", **dict(results)}
    for node in graph.nodes:
        node.output[:] = [renamed.get(o, o) for o in node.output]

    def info(name: str, kind: int, *shape: int | str) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    integers = [
        info(n, TensorProto.INT64, "batch", s) for n, s in (("input_ids", "steps"), ("attention_mask", "total"))
    ]
    inputs = [*integers, *(info(n, TensorProto.FLOAT, "batch", c.groups, "past", c.size) for n in caches)]
    outputs = [info("logits", TensorProto.FLOAT, "batch", 1, c.vocabulary)]
    outputs += [info(n, TensorProto.FLOAT, "batch", c.groups, "total", c.size) for _, n in results]
    body = helper.make_graph(graph.nodes, "decoder", inputs, outputs, graph.initializers)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(body, opset_imports=opsets, ir_version=10)


def _norm(graph: _Graph, x: str, skip: str, name: str, first: bool = False) -> tuple[str, str]:
    """The normalized sum of two tensors, and the sum; of one tensor at the beginning."""
    weight = graph.constant(name, graph.vector(name))
    if first:
        return graph.node("SimplifiedLayerNormalization", [x, weight], domain="", epsilon=1e-5, axis=-1), x
    y, _, _, total = graph.node("SkipSimplifiedLayerNormalization", [x, skip, weight], 4, epsilon=1e-5)
    return y, total


def _settings(c: Configuration) -> dict[str, Any]:
    """The configuration file of the library. The number of threads is in it, too; the engine replaces it."""
    decoder = {
        "session_options": {"intra_op_num_threads": 1, "provider_options": []},
        "filename": "model.onnx",
        "head_size": c.size,
        "hidden_size": c.width,
        "num_attention_heads": c.heads,
        "num_hidden_layers": c.layers,
        "num_key_value_heads": c.groups,
        "inputs": {
            "input_ids": "input_ids",
            "attention_mask": "attention_mask",
            "past_key_names": "past_key_values.%d.key",
            "past_value_names": "past_key_values.%d.value",
        },
        "outputs": {
            "logits": "logits",
            "present_key_names": "present.%d.key",
            "present_value_names": "present.%d.value",
        },
    }
    model = {
        "type": "llama",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
        "context_length": CONTEXT,
        "vocab_size": c.vocabulary,
        "decoder": decoder,
    }
    return {"model": model, "search": {"max_length": CONTEXT, "past_present_share_buffer": True}}


if __name__ == "__main__":
    main(*sys.argv[1:])
