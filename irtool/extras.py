"""Install commands of the packages that only some features need, in one place: irtool is on no package index."""

from __future__ import annotations

import re

_REQUIREMENT = re.compile(r"""(?P<package>[^;]+?)\s*;\s*extra\s*==\s*["'](?P<extra>[^"']+)["']""")


def install_line(extra: str) -> str:
    """The command lines that install the packages of an extra: its packages by their own names, which any environment takes, and
    the extra itself, which pip knows only in a clone."""
    clone = f"pip install '.[{extra}]' in a clone of irtool"
    packages = _packages(extra)
    return f"pip install {' '.join(packages)}, or {clone}" if packages else clone


def _packages(extra: str) -> list[str]:
    """The requirements of an extra, quoted for a shell; none where irtool runs without having been installed."""
    from importlib import metadata  # imports what commands without a message do without

    try:
        required = metadata.requires("irtool") or []
    except metadata.PackageNotFoundError:
        return []
    named = [_REQUIREMENT.fullmatch(r) for r in required]
    return [f"'{m['package']}'" for m in named if m is not None and m["extra"] == extra and "[" not in m["package"]]
