"""Loop nests, evaluated with numpy: loops whose steps do not depend on each other run as one, over arrays.

functions    the operations on arrays
expressions  an expression as a straight list of operations
dependence   how a loop may run: all steps at once, as a reduction, or one after the other
lanes        the steps that run at once
run          statements, and the function as a whole
value        a lowered function as a value of the interpreter
"""
