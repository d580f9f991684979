"""Instruments: what can be watched, checked or limited while passes run. One file each."""
