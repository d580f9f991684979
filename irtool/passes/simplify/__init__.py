"""The rewrites of SimplifyExpr, by what they are about. Each module gives a list of rules."""
