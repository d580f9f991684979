"""The system's C compiler: its command line, and several runs at a time."""
