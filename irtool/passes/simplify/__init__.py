"""The rewrites of SimplifyExpr, by subject. Each module gives a list of rules."""
