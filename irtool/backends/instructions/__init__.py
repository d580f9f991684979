"""Instructions for sums of products, a row for each: the loop nest that it means, its operands, its signs, its text for each backend.

A family of instructions is a module of `families`, found by its place; everything else reads the rows.

row       the fields of a row
signs     how an instruction sums products of numbers of other signs
listing   all rows, and the one that a compiler uses
families  the rows
"""
