"""Forms of Relay's operators in Relax, one file for each family."""
