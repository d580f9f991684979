"""Side effects of expressions: the one analysis for passes that move or drop an expression."""
