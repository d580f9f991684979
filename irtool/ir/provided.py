"""Hooks of nodes, types and modules of Relay: text, pickling, help with names of TVM's."""

from __future__ import annotations

from typing import Any

from ..hooks import Hook

text_of: Hook[[Any], str] = Hook("ir.text_of")
to_text: Hook[..., str] = Hook("ir.to_text")
to_html: Hook[[Any], str] = Hook("ir.to_html")
freeze: Hook[[Any], tuple[Any, tuple[list[Any]]]] = Hook("ir.freeze")
missing_attribute: Hook[[Any, str], AttributeError] = Hook("ir.missing_attribute")
