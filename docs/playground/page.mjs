// The page of the playground: what is typed goes to worker.mjs, whose answer is shown. The fragment of the address has the text and the passes.

const part = (id) => document.getElementById(id);
const [example, passes, pass, vector, run, stop, share, state] = ["example", "passes", "pass", "vector", "run", "stop", "share", "state"].map(part);
const [text, messages, steps, file, code] = ["text", "messages", "steps", "file", "code"].map(part);
const here = new URL("./", import.meta.url);

let worker;
let isReady = false;
let files = {};
let began = 0;
let clock;
let notice = "";

/** A text as characters of an address: compressed, in base64 with `-` and `_`. */
async function pack(value) {
  const stream = new Blob([value]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpack(value) {
  const bytes = Uint8Array.from(atob(value.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
}

function show(request) {
  text.value = request.text;
  passes.value = request.passes ?? "";
  vector.checked = Boolean(request.vector);
}

function current() {
  return { text: text.value, passes: passes.value, vector: vector.checked };
}

/** Shows what the fragment of the address has, if it has something. Returns whether it did. */
async function readAddress(examples) {
  const [key, value] = location.hash.slice(1).split("=", 2);
  if (key === "example") {
    const named = examples.find((e) => e.name === decodeURIComponent(value));
    if (named) example.value = named.name;
    if (named) show(named);
    else warn(`there is no example ${decodeURIComponent(value)}`);
    return named !== undefined;
  }
  if (key !== "m") return false;
  try {
    show(JSON.parse(await unpack(value)));
    example.value = "";
    return true;
  } catch {
    warn("the address behind # is damaged");
    return false;
  }
}

function tell(message) {
  state.textContent = message;
}

/** Shows a message beside those of the next answer. */
function warn(message) {
  notice = message;
  messages.textContent = message;
  messages.hidden = false;
}

function startWorker() {
  isReady = false;
  run.disabled = true;
  stop.hidden = true;
  tell("loading …");
  began = performance.now();
  worker = new Worker(new URL("worker.mjs", here), { type: "module" });
  worker.addEventListener("error", (event) => fail(event.message || "the worker did not start"));
  worker.addEventListener("message", ({ data }) => {
    if (data.progress) tell(`loading … ${(data.progress / 1e6).toFixed(0)} MB`);
    if (data.failure) fail(data.failure);
    if (data.ready) {
      isReady = true;
      run.disabled = false;
      part("playground-form").dataset.seconds = ((performance.now() - began) / 1000).toFixed(1);
      submit();
    }
    if (data.answer) finish(data.answer);
  });
}

function fail(message) {
  clearInterval(clock);
  const old = /invalid value type|invalid type|exnref|exception/i.test(message) && !isReady;
  messages.textContent = old ? `this browser has no exceptions in WebAssembly: ${message}` : message;
  messages.hidden = false;
  tell("failed");
  stop.hidden = true;
  if (isReady) {
    worker.terminate(); // the interpreter may be in any state
    startWorker();
  }
}

function submit() {
  if (!isReady || !stop.hidden) return;
  began = performance.now();
  stop.hidden = false;
  run.disabled = true;
  clock = setInterval(() => tell(`running … ${((performance.now() - began) / 1000).toFixed(0)} s`), 500);
  tell("running …");
  worker.postMessage({ request: current() });
}

function finish(answer) {
  clearInterval(clock);
  stop.hidden = true;
  run.disabled = false;
  tell(`${((performance.now() - began) / 1000).toFixed(1)} s`);
  messages.textContent = [notice, answer.messages].filter((m) => m !== "").join("\n");
  messages.hidden = messages.textContent === "";
  notice = "";
  steps.srcdoc = answer.steps || "<!doctype html><title>no steps</title>";
  const chosen = file.value;
  files = answer.files;
  const names = Object.keys(files).sort();
  file.replaceChildren(...names.map((name) => new Option(name, name)));
  file.hidden = names.length === 0;
  file.value = names.includes(chosen) ? chosen : (names.find((name) => name.endsWith(".c")) ?? "");
  showFile();
  part("playground-form").dataset.answers = Number(part("playground-form").dataset.answers ?? 0) + 1;
}

/** Shows the chosen file, from its first kernel on. */
function showFile() {
  const content = files[file.value] ?? "";
  code.textContent = content;
  const kernel = Math.max(0, content.search(/^static void tvmgen_/m));
  const before = content.slice(0, Math.max(0, content.lastIndexOf("\n/*", kernel)) + 1);
  const lineHeight = parseFloat(getComputedStyle(code).lineHeight);
  code.scrollTop = (before.split("\n").length - 1) * lineHeight;
  code.scrollLeft = 0;
}

async function begin() {
  const { examples, passes: known } = await (await fetch(new URL("data.json", here))).json();
  const groups = Map.groupBy ? Map.groupBy(examples, (e) => e.page) : new Map([["examples", examples]]);
  example.append(new Option("…", ""));
  for (const [page, listed] of groups) {
    const group = document.createElement("optgroup");
    group.label = page;
    group.append(...listed.map((e) => new Option(e.title, e.name)));
    example.append(group);
  }
  pass.append(...known.map(({ name, summary }) => Object.assign(new Option(name, name), { title: summary })));
  example.addEventListener("change", () => {
    const chosen = examples.find((e) => e.name === example.value);
    if (!chosen) return;
    show(chosen);
    history.replaceState(null, "", `#example=${encodeURIComponent(chosen.name)}`);
    submit();
  });
  pass.addEventListener("change", () => {
    passes.value = [passes.value.trim(), pass.value].filter((p) => p !== "").join(",");
    pass.value = "";
    submit();
  });
  vector.addEventListener("change", submit);
  file.addEventListener("change", showFile);
  part("playground-form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  part("playground-form").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  });
  stop.addEventListener("click", () => {
    clearInterval(clock);
    worker.terminate();
    startWorker();
  });
  share.addEventListener("click", async () => {
    history.replaceState(null, "", `#m=${await pack(JSON.stringify(current()))}`);
    try {
      await navigator.clipboard.writeText(location.href);
      tell("link copied");
    } catch {
      tell("the link is the address of this page");
    }
  });
  addEventListener("hashchange", async () => {
    if (await readAddress(examples)) submit();
  });
  if (!(await readAddress(examples))) {
    example.value = examples[0].name;
    show(examples[0]);
  }
  startWorker();
}

if (location.protocol === "file:") fail("browsers run this page only over HTTP: python -m http.server -d build/site");
else begin().catch((error) => fail(String(error.message ?? error)));
