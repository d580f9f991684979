"""Backends: what prints a program in a language of its own. They see loop nests, never Relay."""
