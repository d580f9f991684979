"""Drawings of modules: contents (`drawing`), positions (`layered`), and output formats (`svg`, `html`, …)."""
