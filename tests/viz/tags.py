"""The tags of a page, and what they load."""

from __future__ import annotations

from html.parser import HTMLParser


class Tags(HTMLParser):
    """What a browser makes of a page: elements, attributes and the text of scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.scripts and self.get_starttag_text() and self.cdata_elem == "script":
            self.scripts[-1] += data


def tags_of(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    return tags
