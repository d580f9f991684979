"""`python -m irtool`, which imports nothing from the current folder but a package `irtool` that is there: Python itself has looked for it
there. `irtool` and `python -P -m irtool` do not look there at all."""

from .isolation import leave_current_folder

leave_current_folder()  # before anything else is imported: numpy, say

from .cli import main  # noqa: E402

main()
