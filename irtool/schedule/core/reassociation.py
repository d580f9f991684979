"""Updates of accumulators whose order may change."""

from __future__ import annotations

IDENTITIES = {"+": 0, "*": 1}
"""Of updates that must see each element once, the element that changes nothing."""
EXTREMES = ("min", "max", "minimum", "maximum")
"""Updates that may see an element twice."""
COMBINED = (*IDENTITIES, *EXTREMES)
"""Updates whose order may change."""
