"""Instructions for sums of products, a row for each: its meaning as a loop nest, its operands, its signs, its text for each
backend.

A family of instructions is a module in the folder `families`; everything else reads the rows.

row       the fields of a row
signs     sums of products for other signs of operands than an instruction takes
listing   all rows, and the row that a compiler uses
families  the rows
"""
