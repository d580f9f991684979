"""Golden files: comments in a Relay file are commands to run, and the file beside it is their expected output.

    // RUN: irtool opt --passes=FoldConstant %s
    // RUN: not irtool opt --passes=Foo %s
    // RUN: irtool opt --passes=A %s | irtool opt --passes=B - | irtool check -

A file is one case, or several between lines `// -----`. `directives` reads the comments, `cases` what they mean for each case,
`run_line` runs a command line in this process, `golden` compares, `worker` and `side_by_side` do so in several processes. ONNX
models in the syntax of `onnx.parser` (`.onnxtxt`), whose comments begin with `#`, are goldens, too. docs/golden-tests.md has the rules.
"""
