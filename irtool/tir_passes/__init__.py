"""The passes of `tir.transform` on loop nests of lowered modules: a file for each, with its rewrite in `transforms`."""
