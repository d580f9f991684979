"""Rules that replace a call of an operator by other calls: `rule` says what one is, each other module holds a family."""
