"""The contents of `irtool/plugin/index.json`, from the classes themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import plugin
from ..plugin.index import written

PLACE = Path(plugin.__file__).with_name("index.json")


def index() -> str:
    """The text of the index as the classes are now."""
    from ..backends.base import backends
    from ..exports import exports
    from ..frontends.onnx.operator import onnx_operators
    from ..frontends.tflite.operator import tflite_operators
    from ..ops import operators
    from ..passes import passes
    from ..passes.core.config_options import config_options
    from ..passes.core.pipeline import Pipeline
    from ..passes.core.pipelines import PIPELINES
    from ..passes.instruments import instruments
    from ..plugin import Registry

    def entries(registry: Registry[Any]) -> dict[str, tuple[str, str]]:
        outside = registry.outside()
        own = {name: registry.get(name) for name in registry.names() if name not in outside}
        return {name: (cls.__module__, cls.summary()) for name, cls in own.items()}

    return written(
        {
            "operator": entries(operators),
            "pass": entries(passes),
            "instrument": entries(instruments),
            "export": entries(exports),
            "backend": entries(backends),
            "ONNX operator": entries(onnx_operators),
            "TensorFlow Lite operator": entries(tflite_operators),
            "pipeline": {name: (Pipeline.__module__, p.summary) for name, p in PIPELINES.items()},
            "option": {key: (readers[0].__module__, option.meaning) for key, option, readers in config_options()},
        }
    )
