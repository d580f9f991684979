"""The files beside a model that it has data in."""

from __future__ import annotations

import os

from .model import Model


def external_files(model: Model) -> list[str]:
    """Paths of the files that initializers name, sorted; some may be missing, or not in the model's folder."""
    folder = os.path.dirname(os.path.abspath(model.name))
    protos = [p for p in model.graph.initializers.values() if hasattr(p, "external_data")]
    locations = {e.value for p in protos for e in p.external_data if e.key == "location"}
    return sorted(os.path.join(folder, location) for location in locations)
