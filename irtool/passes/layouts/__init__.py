"""Changing the layouts of tensors: `inference` and the rule files say which layouts an operator works in, `rewriter` carries
changed layouts through a function, `desired` and `blocked` choose them.
"""
