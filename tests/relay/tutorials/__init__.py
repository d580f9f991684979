"""Ten programs as TVM's tutorials have them, line by line in words of our own. `# TVM:` behind a line is what it was before."""
