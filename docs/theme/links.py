"""A hook of MkDocs: pages link to files of the repository, and the site has those files, too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
_OUTSIDE = re.compile(r"\]\(\.\./([^)#]+)")
_INSIDE = re.compile(r"\]\(docs/")
_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages of the repository, and where the site has what they say."""


def on_files(files: Files, config: Any) -> Files:
    """Adds CONTRIBUTING, and the files outside docs/ that pages link to."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    files.append(File.generated(config, "contributing.md", content=_INSIDE.sub("](", contributing)))
    linked = {name for f in files.documentation_pages() for name in _OUTSIDE.findall(f.content_string)}
    for name in sorted(linked - _PAGES.keys()):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Points links at those files."""
    return _OUTSIDE.sub(lambda m: f"]({_PAGES.get(m[1], m[1])}", markdown)
