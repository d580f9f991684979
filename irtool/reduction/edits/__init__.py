"""Edits: changes that make a case smaller, one kind a function. Each looks at the best case of a search, enumerates the
places where its change can be made, and lets the search make as many of them as possible."""
