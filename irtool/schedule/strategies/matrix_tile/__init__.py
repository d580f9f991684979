"""Sums of products in matrix tiles (Intel AMX)."""
