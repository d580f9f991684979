"""Sizes of screens, in pixels, at which pages are looked at."""

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
