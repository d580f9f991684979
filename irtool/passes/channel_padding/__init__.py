"""Channels that are added to tensors so that they fill vectors."""
