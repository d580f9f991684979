"""Updates of accumulators whose order may change."""

from __future__ import annotations

IDENTITIES = {"+": 0, "*": 1}
"""The neutral element of each update that must see every element once."""
EXTREMES = ("min", "max", "minimum", "maximum")
"""Updates that may see an element twice."""
COMBINED = (*IDENTITIES, *EXTREMES)
"""Updates whose order may change."""
