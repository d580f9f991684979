"""Networks in WebAssembly beside onnxruntime-web, in Node."""
