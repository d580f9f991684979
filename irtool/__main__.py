"""`python -m irtool`."""

from .cli import main

main()
