"""The passes of `tir.transform`, on loop nests of lowered modules; one file for each."""
