"""Operators of one vendor's hardware or library: read, typed and printed, but without a meaning outside of it."""
