"""The operators that are timed, all families of them."""

from __future__ import annotations

from .families.convolutions import CONVOLUTIONS
from .families.elements import ELEMENTS
from .families.gradients import GRADIENTS
from .families.indices import INDICES, ORDERS, SCANS
from .families.movements import MOVEMENTS
from .families.products import PRODUCTS
from .families.special import QUANTIZED, RANDOM, SPARSE, TRANSFORMS
from .families.statistics import NORMALISATIONS, REDUCTIONS
from .families.windows import POOLING, SAMPLING

FAMILIES = {
    "Products": PRODUCTS,
    "Convolutions": CONVOLUTIONS,
    "Normalisations": NORMALISATIONS,
    "Reductions": REDUCTIONS,
    "Elements": ELEMENTS,
    "Movements": MOVEMENTS,
    "Gathering and scattering": INDICES,
    "Scans": SCANS,
    "Sorting": ORDERS,
    "Pooling": POOLING,
    "Resizing and sampling": SAMPLING,
    "Random numbers": RANDOM,
    "Fourier transforms": TRANSFORMS,
    "Sparse matrices": SPARSE,
    "8 bits": QUANTIZED,
    "Gradients": GRADIENTS,
}
"""The titles of the families, and their operators."""

OPERATORS = tuple(single for family in FAMILIES.values() for single in family)

BY_NAME = {single.name: single for single in OPERATORS}
