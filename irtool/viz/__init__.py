"""Drawings of modules: what is in one (`drawing`), where it stands (`layered`), and how it is written (`svg`, `html`, …)."""
