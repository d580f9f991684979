"""Changes of nests that keep what they compute: what the passes `tir.…` do, one file for each."""
