"""Running the system's C compiler: how it is called, several at a time."""
