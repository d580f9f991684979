"""Gradients of operators: `rule` says what one is, each other module holds those of a family."""
