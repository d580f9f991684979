"""The bytes of flash and RAM that a network's compiled C takes."""
