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
        place = ROOT / name
        for p in sorted(f for f in place.iterdir() if f.is_file()) if place.is_dir() else [place]:
            files.append(File.generated(config, str(p.relative_to(ROOT)), abs_src_path=str(p)))
        if place.is_dir():
            files.append(File.generated(config, _site_name(name), content=_listing(place)))
    return files


def _listing(folder: Path) -> str:
    """A page with the files of a folder."""
    names = sorted(f.name for f in folder.iterdir() if f.is_file())
    return "\n".join([f"# {folder.relative_to(ROOT)}", "", *(f"- [{n}]({n})" for n in names)]) + "\n"


def _site_name(name: str) -> str:
    """Where the site has a file or a folder of the repository."""
    return f"{name.rstrip('/')}/files.md" if (ROOT / name).is_dir() else _PAGES.get(name, name)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Points links at those files."""
    return _OUTSIDE.sub(lambda m: f"]({_site_name(m[1])}", markdown)
