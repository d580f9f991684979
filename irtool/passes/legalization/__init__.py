"""Rules that replace a call of an operator by other calls: `rule` defines such rules, each other module holds a family."""
