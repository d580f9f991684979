// Runs irtool in CPython for WebAssembly, in a worker of its own: a page stays responsive, and ends a run that takes too long.
//
// Messages to the page: { progress }, { ready }, { answer }, { failure }. Messages from the page: { request }.

import { Exit, Files, imports } from "./wasi.mjs";

const PYTHON = "/usr/local/bin/python.wasm";
const files = new Files();
let instance;
let printed = "";

/** The contents of a compressed file of the site as a stream; `count` receives the number of bytes of each piece that arrives. */
async function unpacked(name, count) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
  const counting = new TransformStream({
    transform(piece, controller) {
      count(piece.length);
      controller.enqueue(piece);
    },
  });
  return response.body.pipeThrough(counting).pipeThrough(new DecompressionStream("gzip"));
}

/** Adds the files of a bundle: the length of an index, the index, and the contents in its order. */
function unbundle(bundle) {
  const length = new DataView(bundle.buffer).getUint32(0, true);
  let start = 4 + length;
  for (const [path, size] of JSON.parse(new TextDecoder().decode(bundle.subarray(4, start)))) {
    files.write(path, bundle.subarray(start, start + size));
    start += size;
  }
}

/** Runs a Python text in the interpreter. */
function run(code) {
  const { host_alloc, memory, turn } = instance.exports;
  const bytes = new TextEncoder().encode(code);
  const address = host_alloc(bytes.length);
  new Uint8Array(memory.buffer, address, bytes.length).set(bytes);
  printed = "";
  const status = turn(address, bytes.length);
  if (status !== 0) throw new Error(printed);
}

function read(path) {
  return new TextDecoder().decode(files.find(path).bytes);
}

async function start() {
  let loaded = 0;
  const count = (bytes) => {
    loaded += bytes;
    postMessage({ progress: loaded });
  };
  const code = new Response(await unpacked("python.wasm.gz", count), { headers: { "Content-Type": "application/wasm" } });
  const [module, bundle] = await Promise.all([
    WebAssembly.compileStreaming(code),
    unpacked("files.gz", count).then((s) => new Response(s).arrayBuffer()),
  ]);
  unbundle(new Uint8Array(bundle));
  const wasi = imports({
    files,
    args: [PYTHON],
    environment: ["TMPDIR=/tmp", "HOME=/tmp"],
    write: (_, text) => { printed += text; },
    memory: () => instance.exports.memory,
  });
  instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi, host: { call: () => -1 } });
  // The image of the interpreter has the index of another archive of the library.
  run("import sys, zipimport; zipimport._zip_directory_cache.clear(); [p.invalidate_caches() for p in sys.path_importer_cache.values() if p]");
  run("sys.path.append('/site'); sys.dont_write_bytecode = True; import session; session.prepare()");
  postMessage({ ready: true });
}

const started = start().catch((error) => postMessage({ failure: String(error.message ?? error) }));

addEventListener("message", async ({ data: { request } }) => {
  await started;
  if (!instance) return;
  try {
    files.write("/tmp/request.json", new TextEncoder().encode(JSON.stringify(request)));
    run("session.respond()");
    postMessage({ answer: JSON.parse(read("/tmp/answer.json")) });
  } catch (error) {
    const reason = error instanceof Exit || error instanceof WebAssembly.RuntimeError ? `Python ended: ${error.message}` : error.message;
    postMessage({ failure: reason });
  }
});
