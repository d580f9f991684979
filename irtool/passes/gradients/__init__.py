"""Gradients of operators: `rule` defines gradient rules, each other module holds the rules of a family."""
