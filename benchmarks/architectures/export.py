"""Writes ONNX files of an architecture, and its inputs: `python -m benchmarks.architectures.export NAME FOLDER EXPORTER`."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from .configurations import ARCHITECTURES, build


def main() -> None:
    """One file; what torch says goes to standard error."""
    import torch

    name, folder, exporter = sys.argv[1:]
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    model, inputs = build(name)
    path = Path(folder) / f"{name}.{exporter}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(inputs)
    tensors = tuple(inputs.values())
    with torch.no_grad():
        torch.onnx.export(
            model,
            tensors,
            str(path),
            input_names=names,
            output_names=["out"],
            dynamo=exporter == "dynamo",
            **({"opset_version": ARCHITECTURES[name].opset} if exporter != "dynamo" else {}),
        )
    np.savez(path.with_suffix(".npz"), **{k: v.numpy() for k, v in inputs.items()})


if __name__ == "__main__":
    main()
