"""Times of a network: of a full run, of each kernel by itself, and the limits of the machine.

machine    the processor's multiply-adds and copies a second
record     times with their subjects, as JSON and back
measure    the measuring
compare    two records, allowing for noise
trace      kernels on a line of time, for Perfetto
"""
