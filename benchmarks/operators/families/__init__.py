"""The operators that are timed, a file for each family: calls in Relay, and the same calls of torch."""
