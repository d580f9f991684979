"""What irtool promises, one sentence a promise; `@pytest.mark.promise(KEY)` names the tests that keep it.

`docs/conformance.md` has a row for each.
"""

PROMISES = {
    "selected functions": "`--func`, `func(…)` and `ApplyPassToFunction` change nothing but the functions they select",
    "inner passes": "a pass inside `func(…)` is a pass: prerequisites, instruments, printing, timing, stopping",
    "pasted text": "texts as people paste them are read as they stand, and whatever irtool prints is read back",
    "untyped programs": "types that nothing decides are taken from the given inputs, or refused with a place, by every command",
    "weights first": "weights are bound before types are inferred",
    "later Relay": "texts of TVM 0.11 to 0.19 are read",
    "contexts": "the current `PassContext` governs what runs inside `with`",
    "pipelines": "pipelines exist by name, and `build` and `run` take passes and their options",
    "value checks": "`--check-values` knows which passes are meant to change results",
    "Python API": "programs written against TVM's Python API have close counterparts",
    "plug-ins": "operators, passes and instruments from outside reach every command and the Python API",
    "partial inference": "shapes and dtypes are inferred apart, forwards and backwards, with hints from outside",
    "normal forms": "the check of the basic-block normal form names the expression that violates it",
    "inputs": "inputs are made by position, and unreadable ones are refused",
    "one rule for inputs": "an array is taken by one rule for the interpreter, for C and for weights: converted without loss and with a word, or refused",
    "nothing invented in silence": "values from several files add up, a name given twice is refused, random values are named",
    "every output": "every sample is built with every kind of output and every option",
    "random pipelines": "random modules keep their types and values through random passes, and evaluation still ends",
    "large texts": "a module of a million operators is read in linear time and memory",
    "indices from data": "an index or a box that comes from data reads nothing outside of its tensor, whatever it is",
    "C says its origin": "generated C says what it is made for and how it is compiled, and is taken in, placed and checked",
    "closed sets": "dtypes, dimensions and strings are closed sets: what is outside is refused with a place, the rest reads back",
    "growth": "time, memory and text grow as the input does: parsing, printing, inference, passes and builds",
    "NaN and overflow": "NaN, infinities and numbers that do not fit mean the same to the interpreter and to C, as `docs/language.md` says",
    "agreement": "what checking accepts the interpreter evaluates and C compiles, or both refuse it with a place",
    "refused by type": "what an operator cannot compute its type rule refuses, with a place",
    "reproducers": "where irtool fails by its own fault it leaves a file that shows the failure by itself, anywhere",
    "differences": "`diff` says in words and places what differs, of constants how much and where, with the exit codes of diff(1)",
    "mistakes of newcomers": "what is misspelt, misplaced or of another kind is called so, with what was probably meant",
    "mutants": "a random change of one token of irtool is noticed by quick tests, in more than 85 of 100 cases",
    "completion": "shells complete commands, options, passes, operators, instruments, functions of the named file, and files",
    "faults": "whatever fails around a command: one message, the right exit code, nothing half-written, what was there is kept",
}
