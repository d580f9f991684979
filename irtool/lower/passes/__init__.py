"""Passes that turn Relay into loop nests."""
