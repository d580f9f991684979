"""Packages to begin with: a folder for each kind, whose files and their names have `$name` and the like in them."""
