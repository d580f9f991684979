/*
@BANNER@
 */
const NETWORK = @NETWORK@;

const ERRORS = @ERRORS@;

const PAGE = 65536;
const ALIGNMENT = 64;
const ARRAYS = {
  float16: Uint16Array, bfloat16: Uint16Array, float32: Float32Array, float64: Float64Array,
  int8: Int8Array, uint8: Uint8Array, bool: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array,
};

/* Functions whose bodies have an instruction of each level: engines without it do not validate them. */
const PROBES = {
  "wasm-simd128": [253, 15, 253, 98, 11],
  "wasm-relaxed-simd": [253, 15, 65, 2, 253, 15, 253, 128, 2, 11],
};

function supports(level) {
  const probe = PROBES[level];
  if (!probe) return true;
  const body = [0, 65, 0, ...probe];
  return WebAssembly.validate(new Uint8Array([
    0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, body.length + 2, 1, body.length, ...body,
  ]));
}

/** An error of a run; `code` is the number that the compiled function returned. */
export class NetworkError extends Error {
  constructor(message, code = 0) {
    super(`${NETWORK.name}: ${message}`);
    this.name = "NetworkError";
    this.code = code;
  }
}

export const inputs = describe(NETWORK.entries.run.inputs);
export const outputs = describe(NETWORK.entries.run.outputs);
export const levels = NETWORK.levels.map(([level]) => level);

function describe(tensors) {
  return tensors.filter((t) => t.shown !== false).map(({ name, dtype, text }) => ({ name, dtype, shape: text }));
}

async function bytesOf(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (typeof Response !== "undefined" && source instanceof Response) {
    if (!source.ok) throw new NetworkError(`${source.url} cannot be fetched: status ${source.status}`);
    return source.arrayBuffer();
  }
  const url = new URL(source, import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new NetworkError(`${url} cannot be fetched: status ${response.status}`);
  return response.arrayBuffer();
}

function viewOf(bytes) {
  return ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
}

/**
 * Loads the network.
 *
 * `wasm`: its module, the bytes of it, a response, or an address; by default the file of the highest level that this engine has, beside this one.
 * `weights`: the bytes of the weights file, a response, or an address; by default the file beside this one.
 * `level`: the highest level of instructions that may be used, one of `levels`.
 */
export async function load({ wasm, weights, level } = {}) {
  let module = wasm;
  if (!(module instanceof WebAssembly.Module)) {
    let file = wasm;
    if (file === undefined) {
      const first = level === undefined ? 0 : levels.indexOf(level);
      if (first < 0) throw new NetworkError(`the level ${level} is not one of ${levels.join(", ")}`);
      const usable = NETWORK.levels.slice(first).find(([l]) => supports(l));
      if (!usable) throw new NetworkError(`this engine has none of the levels ${levels.join(", ")}`);
      file = usable[1];
    }
    module = await WebAssembly.compile(await bytesOf(file));
  }
  let stored = null;
  if (NETWORK.weights) {
    const { file, section, size } = NETWORK.weights;
    if (file) stored = viewOf(await bytesOf(weights ?? file));
    else [stored] = WebAssembly.Module.customSections(module, section).map(viewOf);
    if (!stored || stored.length !== size)
      throw new NetworkError(`the weights have ${stored ? stored.length : 0} bytes, and ${size} are expected`, 2);
  }
  return Network.create(module, stored);
}

/** A loaded network: its memory has one instance of it. */
export class Network {
  #module; #weights; #exports; #base = 0; #capacity = 0; #instance = 0;

  static async create(module, weights) {
    const imports = {};
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module))
      if (kind === "function")
        (imports[from] ??= {})[name] = () => { throw new NetworkError(`it called ${name}, which networks do not need`); };
    const network = new Network();
    network.#begin(module, weights, (await WebAssembly.instantiate(module, imports)).exports);
    return network;
  }

  #begin(module, weights, exports) {
    this.#module = module;
    this.#weights = weights;
    this.#exports = exports;
    exports._initialize?.();
    if (weights) {
      const address = this.#allocate(weights.length);
      new Uint8Array(exports.memory.buffer, address, weights.length).set(weights);
      this.#check(exports[NETWORK.weights.set](address));
    }
    if (NETWORK.instance) {
      this.#instance = this.#allocate(NETWORK.instance.bytes);
      this.reset();
    }
  }

  /** Another instance, with a memory of its own and the same weights. */
  another() {
    return Network.create(this.#module, this.#weights);
  }

  /** The bytes of memory of this instance. */
  get memoryBytes() {
    return this.#exports.memory.buffer.byteLength;
  }

  #allocate(bytes) {
    const pages = Math.ceil(bytes / PAGE);
    try {
      return this.#exports.memory.grow(pages) * PAGE;
    } catch {
      throw new NetworkError(`${pages * PAGE} more bytes of memory are needed, which this engine does not give`, 1);
    }
  }

  #reserve(bytes) {
    if (bytes <= this.#capacity) return;
    const end = this.#base + this.#capacity;
    if (this.#capacity && end === this.memoryBytes) this.#allocate(bytes - this.#capacity);
    else this.#base = this.#allocate(bytes);
    this.#capacity = this.memoryBytes - this.#base;
  }

  #check(code) {
    if (code) throw new NetworkError(ERRORS[code] ?? `error ${code}`, code);
  }

@METHODS@
  #run(entry, given, lengths) {
    const tensors = readInputs(entry, given);
    const { memory } = this.#exports;
    const values = entry.lengths ? this.#lengths(entry, tensors, lengths) : {};
    const numbers = (entry.lengths ?? []).map((name) => values[name]);
    const arena = entry.arenaSize ? this.#exports[entry.arenaSize](...numbers) >>> 0 : entry.arena;
    if (entry.arenaSize && !arena)
      throw new NetworkError(`the lengths ${show(values)} are out of their bounds, or too large for this memory`, 4);
    let end = arena;
    const place = (t) => {
      const shape = shapeOf(t, values);
      const size = elements(shape);
      const begin = end;
      end += Math.ceil((Math.max(1, size) * ARRAYS[t.dtype].BYTES_PER_ELEMENT) / ALIGNMENT) * ALIGNMENT;
      return { shape, size, begin };
    };
    const ins = entry.inputs.map(place);
    entry.inputs.forEach((t, n) => checkInput(t, tensors[n], ins[n]));
    const outs = entry.outputs.map(place);
    this.#reserve(end);
    const base = this.#base;
    ins.forEach(({ begin, size }, n) => {
      const Type = ARRAYS[entry.inputs[n].dtype];
      const { data } = tensors[n];
      new Type(memory.buffer, base + begin, size).set(data);
    });
    const instance = entry.isStep ? [this.#instance] : [];
    const addresses = [...ins, ...outs].map(({ begin }) => base + begin);
    this.#check(this.#exports[entry.symbol](base, arena, ...instance, ...numbers, ...addresses));
    const result = {};
    const extents = outs.map(({ begin, shape, size }, n) => new ARRAYS[entry.outputs[n].dtype](memory.buffer, base + begin, size));
    entry.outputs.forEach((t, n) => {
      if (t.shown === false) return;
      const shape = t.extents === undefined ? outs[n].shape : [...extents[t.extents]].map(Number);
      const data = extents[n].slice(0, elements(shape));
      result[t.name] = t.names || t.extents !== undefined ? { data, shape } : data;
    });
    return result;
  }

  /** The lengths that a run decides, by name, from the shapes of the inputs. */
  #lengths(entry, tensors, lengths = {}) {
    const values = {};
    for (const [name, value] of Object.entries(lengths)) values[name] = BigInt(value);
    for (const { name, offset } of NETWORK.instance?.positions ?? [])
      values[name] = new DataView(this.#exports.memory.buffer).getBigInt64(this.#instance + offset, true);
    const bind = (name, value, t) => {
      if ((values[name] ??= value) !== value)
        throw new NetworkError(`the length ${name} is ${values[name]}, and the input ${t.name} says ${value}`);
    };
    entry.inputs.forEach((t, n) => {
      const { shape, data } = tensors[n];
      if (!t.names) return;
      if (shape) {
        if (shape.length !== t.names.length) throw wrongShape(t, shape);
        t.names.forEach((name, k) => { if (name) bind(name, BigInt(shape[k]), t); });
        return;
      }
      const open = t.names.filter((name) => name && values[name] === undefined);
      if (open.length !== 1) return;
      const others = elements(shapeOf(t, { ...values, [open[0]]: 1n }));
      if (others && data.length % others === 0) bind(open[0], BigInt(data.length / others), t);
    });
    for (const name of [...entry.lengths, ...(NETWORK.instance?.positions ?? []).map((p) => p.name)])
      if (values[name] === undefined)
        throw new NetworkError(`the length ${name} does not follow from the inputs: pass a tensor as {data, shape}, or lengths: {${name}: …}`);
    return values;
  }
}

function elements(shape) {
  return shape.reduce((a, b) => a * b, 1);
}

function shapeOf(t, values) {
  return typeof t.shape === "function" ? t.shape(values).map(Number) : t.shape;
}

function show(values) {
  return Object.entries(values).map(([name, value]) => `${name} = ${value}`).join(", ");
}

function kindOf(value) {
  if (value === null || typeof value !== "object") return value === undefined ? "nothing" : `a ${typeof value}`;
  const length = typeof value.length === "number" ? ` of ${value.length}` : "";
  return `a ${value[Symbol.toStringTag] ?? value.constructor?.name ?? "value"}${length}`;
}

function typeOf(t) {
  return `${t.dtype}[${t.text.join(", ")}]`;
}

function wrongShape(t, shape) {
  return new NetworkError(`the input ${t.name} is ${typeOf(t)}, and has the shape [${shape.join(", ")}]`);
}

/** The inputs in order, each as {data, shape}. */
function readInputs(entry, given) {
  const names = entry.inputs.map((t) => t.name);
  const isTensor = (x) => ArrayBuffer.isView(x) || (x && ArrayBuffer.isView(x.data));
  let values = given;
  if (isTensor(given) && names.length === 1 && !(names[0] in given)) values = [given];
  if (values === null || typeof values !== "object") values = values === undefined ? [] : [values];
  if (!Array.isArray(values)) {
    const unknown = Object.keys(values).find((n) => !names.includes(n));
    if (unknown !== undefined) throw new NetworkError(`there is no input ${unknown}: the inputs are ${names.join(", ") || "none"}`);
    values = names.map((n) => values[n]);
  }
  if (values.length !== names.length)
    throw new NetworkError(`${values.length} inputs are given, and ${names.length} are expected: ${names.join(", ")}`);
  return entry.inputs.map((t, n) => {
    const value = values[n];
    const { data, shape } = ArrayBuffer.isView(value) ? { data: value, shape: undefined } : value ?? {};
    const expected = ARRAYS[t.dtype].name;
    const kind = data?.[Symbol.toStringTag];
    if (kind !== expected && !(t.dtype === "uint8" && kind === "Uint8ClampedArray"))
      throw new NetworkError(`the input ${t.name} is ${typeOf(t)}: a ${expected} is expected, not ${kindOf(data ?? value)}`);
    return { data, shape: shape && Array.from(shape, Number) };
  });
}

function checkInput(t, { data, shape }, { shape: expected, size }) {
  if (shape && (shape.length !== expected.length || shape.some((d, n) => d !== expected[n])))
    throw new NetworkError(`the input ${t.name} is ${typeOf(t)}: the shape [${expected.join(", ")}] is expected, not [${shape.join(", ")}]`);
  if (data.length !== size)
    throw new NetworkError(`the input ${t.name} is ${typeOf(t)}: a ${ARRAYS[t.dtype].name} of ${size} elements is expected, not of ${data.length}`);
}
