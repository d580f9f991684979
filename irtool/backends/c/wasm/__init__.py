"""WebAssembly: the C of `backends.c`, its compilers, and the ES module that calls it in browsers, Node and Deno."""
