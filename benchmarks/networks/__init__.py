"""Networks as Relay text, written by small programs."""
