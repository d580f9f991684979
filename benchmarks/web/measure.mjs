/* Times one network in Node: node measure.mjs irtool|ort FOLDER NAME RUNS; prints JSON. */
import { readFileSync, writeFileSync } from "node:fs";
const [engine, folder, name, runs, out] = process.argv.slice(2);
const inputs = JSON.parse(readFileSync(`${folder}/inputs.json`));
const ARRAYS = { float32: Float32Array, int64: BigInt64Array, int32: Int32Array, float64: Float64Array, uint8: Uint8Array, int8: Int8Array, bool: Uint8Array };
const typed = Object.fromEntries(inputs.map(({ name, dtype, shape, file }) => {
  const bytes = readFileSync(`${folder}/${file}`);
  return [name, { dtype, shape, data: new ARRAYS[dtype](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length)) }];
}));
const start = performance.now();
let run;
if (engine === "irtool") {
  const { load } = await import(`${folder}/${name}.mjs`);
  const network = await load();
  const values = Object.values(typed).map(({ data }) => data);
  run = async () => Object.values(network.run(values))[0];
} else {
  const ort = await import("onnxruntime-web");
  ort.env.wasm.numThreads = 1;
  const session = await ort.InferenceSession.create(`${folder}/${name}.onnx`, { executionProviders: ["wasm"], graphOptimizationLevel: "all" });
  const feeds = Object.fromEntries(Object.entries(typed).map(([n, { dtype, shape, data }]) => [n, new ort.Tensor(dtype, data, shape)]));
  run = async () => (await session.run(feeds))[session.outputNames[0]].data;
}
const loaded = performance.now();
let result = await run();
const first = performance.now();
const times = [];
for (let n = 0; n < Number(runs); ++n) {
  const begin = performance.now();
  result = await run();
  times.push(performance.now() - begin);
}
times.sort((a, b) => a - b);
if (out) writeFileSync(out, new Uint8Array(result.buffer, result.byteOffset, result.byteLength));
console.log(JSON.stringify({ load: loaded - start, first: first - start, median: times[times.length >> 1], least: times[0] }));
