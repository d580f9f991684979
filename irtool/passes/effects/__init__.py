"""What evaluation does besides giving a value: the one analysis that every pass asks before it moves or drops an expression."""
