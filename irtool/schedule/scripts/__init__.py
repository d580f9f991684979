"""Schedules from outside: texts that `--schedule` reads, schedules written in Python, and measured choices.

script        primitives of chosen stages, read from the text that `build --explain` prints
coverage      a check that the parts of a stage cover it
handwritten   schedules in Python
tuned         choices that `irtool tune` measured
"""
