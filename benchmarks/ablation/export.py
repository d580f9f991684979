"""Writes the ONNX file of a network: `python -m benchmarks.ablation.export NAME FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from ..compare.export import export
from .networks import NETWORKS

if __name__ == "__main__":
    print(export(NETWORKS[sys.argv[1]].network, sys.argv[1], Path(sys.argv[2])))
