"use strict";
// The page of a drawing. `data` has steps (a title, and which view they show) and views: a text, and graphs with what their layout
// depends on. Nothing from a module becomes markup here: all text goes through textContent.
(() => {
  const ACROSS = 26, DOWN = 44, MARGIN = 14, HEAD = 30, HEADING = 24, APART = 56;
  const data = JSON.parse(document.getElementById("data").textContent);
  const get = (id) => document.getElementById(id);
  const canvas = get("canvas"), panel = get("panel"), about = get("about"), list = get("text"), find = get("find");
  const state = { step: 0, view: 0, x: 0, y: 0, k: 1, moved: false, chosen: -1, hits: [], hit: -1 };

  // Views: what the elements of a drawing are, found once.
  const views = data.views.map((view, v) => {
    const svg = get("v" + v);
    const nodes = view.nodes.map((facts, n) => ({ ...facts, n, element: get(`v${v}n${n}`), open: false, graph: -1, out: [], into: [] }));
    const graphs = view.graphs.map((g, i) => ({ ...g, i, around: -1, element: svg.querySelector(`[data-graph="${i}"]`) }));
    for (const g of graphs) {
      g.paths = [...g.element.querySelector(":scope > .edges").children];
      for (const [n, rank, x, w, h] of g.nodes) Object.assign(nodes[n], { graph: g.i, rank, x, w, h });
      for (const [a, b] of g.edges) { nodes[a].out.push(b); nodes[b].into.push(a); }
    }
    for (const node of nodes) for (const i of node.inside || []) graphs[i].around = node.n;
    return { svg, nodes, graphs, tops: view.tops, text: view.text, world: svg.querySelector(".world"), width: 0, height: 0, done: false };
  });
  const now = () => views[state.view];

  // Layout. Opening a node stretches the plane between its sides, and the height of its rank; so nothing comes to overlap.
  function stretched(graph, nodes) {
    const spans = [];
    for (const [n, , x, w] of graph.nodes) if (nodes[n].open) spans.push([x - w / 2, x + w / 2, nodes[n].width / w]);
    const ends = [...new Set(spans.flatMap(([a, b]) => [a, b]))].sort((a, b) => a - b);
    let sum = 0;
    const shifts = ends.map((end, i) => {
      const shift = sum, next = ends[i + 1];
      let most = 1;
      if (next !== undefined) for (const [a, b, by] of spans) if (a <= end && b >= next && by > most) most = by;
      if (next !== undefined) sum += (most - 1) * (next - end);
      return [end, shift, most];
    });
    return (x) => {
      let low = 0, high = shifts.length;
      while (low < high) { const mid = (low + high) >> 1; if (shifts[mid][0] <= x) low = mid + 1; else high = mid; }
      if (!low) return x;
      const [end, shift, most] = shifts[low - 1];
      return x + shift + (most - 1) * (x - end);
    };
  }

  function sizeOf(node, graphs) {
    if (!node.open) return [node.w, node.h];
    let width = 0, height = 0;
    for (const i of node.inside) { width += graphs[i].wide + (width ? APART / 2 : 0); height = Math.max(height, graphs[i].high + (graphs[i].name ? HEADING : 0)); }
    return [Math.max(width + 2 * MARGIN, node.w), HEAD + height + 2 * MARGIN];
  }

  function bend(x, y, toX, toY) {
    if (x === toX) return `V${toY}`;
    const d = (toY - y) / 2;
    return `C${x} ${y + d} ${toX} ${toY - d} ${toX} ${toY}`;
  }

  function arrange(view, graph) {
    const { nodes } = view;
    for (const [n] of graph.nodes) [nodes[n].width, nodes[n].height] = sizeOf(nodes[n], view.graphs);
    const to = stretched(graph, nodes), heights = graph.rows.map((h) => h), tops = [];
    for (const [n, rank] of graph.nodes) heights[rank] = Math.max(heights[rank], nodes[n].height);
    let top = 0;
    for (const h of heights) { tops.push(top); top += h + DOWN; }
    graph.high = Math.max(top - DOWN, 0);
    graph.wide = to(graph.width);
    for (const [n, rank, x, w] of graph.nodes) {
      const node = nodes[n];
      node.cx = node.open ? (to(x - w / 2) + to(x + w / 2)) / 2 : to(x);
      node.top = tops[rank] + (heights[rank] - node.height) / 2;
      place(view, node);
    }
    graph.edges.forEach(([a, b, end, via], i) => {
      const s = nodes[a], t = nodes[b];
      let x = s.cx, y = s.top + s.height, path = `M${x} ${y}`;
      for (const [rank, at] of via) { const to2 = to(at); path += bend(x, y, to2, tops[rank]) + `V${tops[rank] + heights[rank]}`; x = to2; y = tops[rank] + heights[rank]; }
      path += bend(x, y, t.cx + end, t.top - 5) + "m-3 -1 l3 6 l3 -6";
      graph.paths[i].setAttribute("d", path);
    });
  }

  function place(view, node) {
    const { element, width, height, open } = node, box = element.querySelector(":scope > .box");
    element.setAttribute("transform", `translate(${node.cx} ${node.top})`);
    box.setAttribute("x", -width / 2); box.setAttribute("width", width); box.setAttribute("height", height);
    if (!node.inside) return;
    element.classList.toggle("open", open);
    element.setAttribute("aria-expanded", open);
    element.querySelector(":scope > .sign").setAttribute("d", open ? `M${width / 2 - 18} 13h9` : `M${width / 2 - 18} 13h9m-4.5 -4.5v9`);
    element.querySelector(":scope > .inside").style.display = open ? "" : "none";
    if (!open) return;
    let x = -width / 2 + MARGIN;
    for (const i of node.inside) {
      const g = view.graphs[i];
      g.element.setAttribute("transform", `translate(${x} ${HEAD + MARGIN + (g.name ? HEADING : 0)})`);
      x += g.wide + APART / 2;
    }
  }

  function layOut(view) {
    const shown = new Set(view.tops);
    for (const g of view.graphs) if (g.around >= 0 && view.nodes[g.around].open && shown.has(view.nodes[g.around].graph)) shown.add(g.i);
    for (let i = view.graphs.length - 1; i >= 0; i--) if (shown.has(i)) arrange(view, view.graphs[i]); // those inside first
    let x = 0;
    view.height = 0;
    for (const i of view.tops) {
      const g = view.graphs[i];
      g.element.setAttribute("transform", `translate(${x} 0)`);
      x += Math.max(g.wide, 9 * g.name.length) + APART;
      view.height = Math.max(view.height, g.high);
    }
    view.width = x - APART;
    view.done = true;
  }

  // Where the reader looks.
  const move = () => now().world.setAttribute("transform", `translate(${state.x} ${state.y}) scale(${state.k})`);
  function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const k = Math.min(4, Math.max(0.03, state.k * by));
    state.x = x - ((x - state.x) * k) / state.k; state.y = y - ((y - state.y) * k) / state.k; state.k = k; state.moved = true;
    move();
  }
  function fit(least = 0.03) {
    const view = now(), w = canvas.clientWidth, h = canvas.clientHeight, pad = 28;
    state.k = Math.min(1.25, Math.max(least, Math.min((w - 2 * pad) / view.width, (h - 2 * pad - 24) / (view.height + 24))));
    const first = view.graphs[view.tops[0]];
    const start = view.nodes[first.nodes[0]?.[0]];
    if (first.wide * state.k > w - 2 * pad && start) state.x = Math.min(pad, w / 2 - start.cx * state.k); // the first input in the middle
    else state.x = Math.max(pad, (w - (view.width * state.k <= w - 2 * pad ? view.width : first.wide) * state.k) / 2);
    state.y = pad + 24;
    move();
  }
  function corner(node) { // left and top of a node, in the drawing
    let x = node.cx, y = node.top;
    for (let g = now().graphs[node.graph]; ;) {
      const [, a, b] = g.element.getAttribute("transform").match(/translate\((\S+) (\S+)\)/);
      x += +a; y += +b;
      if (g.around < 0) return [x - node.width / 2, y];
      const outer = now().nodes[g.around];
      x += outer.cx; y += outer.top; g = now().graphs[outer.graph];
    }
  }
  function reveal(node) {
    const [x, y] = corner(node), pad = 40, w = canvas.clientWidth, h = canvas.clientHeight;
    const left = x * state.k + state.x, top = y * state.k + state.y, wide = Math.min(node.width * state.k, w - 2 * pad), high = Math.min(node.height * state.k, h - 2 * pad);
    if (left < pad) state.x += pad - left; else if (left + wide > w - pad) state.x -= left + wide - w + pad;
    if (top < pad) state.y += pad - top; else if (top + high > h - pad) state.y -= top + high - h + pad;
    move();
  }

  // Choosing and opening.
  function say(tag, text, name) {
    const e = document.createElement(tag);
    e.textContent = text;
    if (name) e.className = name;
    about.append(e);
  }
  function choose(n, focus = true) {
    const view = now();
    for (const e of view.svg.querySelectorAll(".chosen, .near")) e.classList.remove("chosen", "near");
    for (const e of view.svg.querySelectorAll('[tabindex="0"]')) e.setAttribute("tabindex", "-1");
    for (const e of list.querySelectorAll(".here")) e.classList.remove("here");
    state.chosen = n;
    if (n < 0) return;
    const node = view.nodes[n], graph = view.graphs[node.graph];
    node.element.classList.add("chosen");
    node.element.setAttribute("tabindex", "0");
    graph.edges.forEach(([a, b], i) => { if (a === n || b === n) graph.paths[i].classList.add("near"); });
    about.replaceChildren();
    say("h2", node.label);
    for (const d of node.details) say("p", d);
    if (node.type) say("p", node.type + (node.size ? ` · ${node.size}` : ""));
    const names = (numbers) => [...new Set(numbers)].map((i) => view.nodes[i].label).slice(0, 8).join(", ");
    if (node.into.length) say("p", `reads ${names(node.into)}`, "hint");
    if (node.out.length) say("p", `is read by ${names(node.out)}`, "hint");
    if (node.lines[0]) {
      say("p", node.lines[1] > node.lines[0] ? `lines ${node.lines[0]} to ${node.lines[1]}` : `line ${node.lines[0]}`, "hint");
      const rows = list.children;
      for (let i = node.lines[0]; i <= Math.min(node.lines[1], node.lines[0] + 500, rows.length); i++) rows[i - 1].classList.add("here");
      const row = rows[node.lines[0] - 1];
      if (row) list.scrollTop = row.offsetTop - list.offsetTop - list.clientHeight / 3;
    }
    if (focus) node.element.focus({ preventScroll: true });
    reveal(node);
  }
  function toggle(node, open = !node.open) {
    if (!node.inside) return;
    const before = corner(node);
    node.open = open;
    layOut(now());
    const after = corner(node); // it stays where it is on the screen
    state.x += (before[0] - after[0]) * state.k;
    state.y += (before[1] - after[1]) * state.k;
    move();
  }
  function all(open) {
    for (const node of now().nodes) if (node.inside) node.open = open;
    layOut(now());
    fit(open ? 0.4 : 0.8);
  }
  function around(node) {
    const g = now().graphs[node.graph];
    return g.around < 0 ? null : now().nodes[g.around];
  }
  function unfold(node) {
    for (let outer = around(node); outer; outer = around(outer)) outer.open = true;
    layOut(now());
  }

  // Search.
  function search() {
    const words = find.value.trim().toLowerCase(), view = now();
    for (const e of view.svg.querySelectorAll(".hit")) e.classList.remove("hit");
    state.hits = words ? view.nodes.filter((n) => [n.label, ...n.details, n.type].some((t) => t.toLowerCase().includes(words))) : [];
    state.hit = -1;
    view.svg.classList.toggle("dimmed", state.hits.length > 0);
    for (const n of state.hits) n.element.classList.add("hit");
    get("found").textContent = words ? `${state.hits.length} found` : "";
  }
  function nextHit(by) {
    if (!state.hits.length) return;
    state.hit = (state.hit + by + state.hits.length) % state.hits.length;
    const node = state.hits[state.hit];
    unfold(node);
    choose(node.n, false);
    get("found").textContent = `${state.hit + 1} of ${state.hits.length}`;
  }

  // Steps. A group is called by the number of its first step.
  const starts = data.steps.map((s, i) => i).filter((i) => i === 0 || data.steps[i].group !== data.steps[i - 1].group);
  get("group").replaceChildren(...starts.map((i) => new Option(data.steps[i].group, i)));
  const groupOf = (step) => starts.findLast((i) => i <= step);
  const beginGroup = (by) => show(starts[Math.min(starts.length - 1, Math.max(0, starts.indexOf(groupOf(state.step)) + by))]);
  function show(step) {
    const s = data.steps[step], changed = state.view !== s.view || !now().done;
    state.step = step;
    views.forEach((v, i) => v.svg.toggleAttribute("hidden", i !== s.view));
    state.view = s.view;
    now().svg.classList.toggle("arriving", step === 0 || data.steps[step - 1].view !== s.view);
    now().svg.classList.toggle("leaving", step + 1 < data.steps.length && data.steps[step + 1].view !== s.view);
    get("step").value = step;
    get("step").setAttribute("aria-valuetext", s.title);
    get("pass").textContent = get("group").hidden || !s.title.startsWith(`${s.group}: `) ? s.title : s.title.slice(s.group.length + 2);
    get("remark").textContent = s.remark;
    get("count").textContent = `${step + 1} of ${data.steps.length}`;
    get("group").value = groupOf(step);
    if (!changed) return;
    if (!now().done) layOut(now());
    state.chosen = -1;
    list.replaceChildren(...now().text.map((line) => { const li = document.createElement("li"); li.textContent = line; return li; }));
    const first = now().nodes[now().graphs[now().tops[0]]?.nodes[0]?.[0]];
    if (first) first.element.setAttribute("tabindex", "0");
    if (find.value) search();
    if (state.moved) move(); else fit(0.8);
  }

  // Mouse and touch.
  const touching = new Map();
  let dragged = 0;
  canvas.addEventListener("pointerdown", (e) => { if (e.button) return; touching.set(e.pointerId, [e.clientX, e.clientY]); dragged = 0; });
  canvas.addEventListener("pointermove", (e) => {
    const last = touching.get(e.pointerId);
    if (!last) return;
    const dx = e.clientX - last[0], dy = e.clientY - last[1];
    dragged += Math.abs(dx) + Math.abs(dy);
    if (touching.size === 2) {
      const [other] = [...touching].filter(([id]) => id !== e.pointerId).map(([, p]) => p), box = canvas.getBoundingClientRect();
      const before = Math.hypot(last[0] - other[0], last[1] - other[1]), after = Math.hypot(e.clientX - other[0], e.clientY - other[1]);
      if (before) zoom(after / before, (e.clientX + other[0]) / 2 - box.left, (e.clientY + other[1]) / 2 - box.top);
    } else { state.x += dx; state.y += dy; state.moved = true; move(); }
    touching.set(e.pointerId, [e.clientX, e.clientY]);
    if (dragged > 4) { now().svg.classList.add("dragged"); canvas.setPointerCapture(e.pointerId); }
  });
  for (const type of ["pointerup", "pointercancel", "pointerleave"]) canvas.addEventListener(type, (e) => { touching.delete(e.pointerId); now().svg.classList.remove("dragged"); });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    const box = canvas.getBoundingClientRect(), line = e.deltaMode ? 16 : 1;
    if (e.shiftKey) { state.x -= (e.deltaY || e.deltaX) * line; move(); } else zoom(Math.exp(-e.deltaY * line * 0.0016), e.clientX - box.left, e.clientY - box.top);
  }, { passive: false });
  canvas.addEventListener("click", (e) => {
    if (dragged > 4) return;
    const element = e.target.closest(".node");
    if (!element) return;
    const node = now().nodes[+element.dataset.node], again = state.chosen === node.n;
    choose(node.n);
    if (node.inside && (again || e.target.closest(".sign") || node.open)) toggle(node);
  });
  canvas.addEventListener("dblclick", (e) => { if (!e.target.closest(".node")) fit(); });
  list.addEventListener("click", (e) => {
    const line = [...list.children].indexOf(e.target.closest("li")) + 1;
    const node = now().nodes.filter((n) => n.lines[0] === line && !n.block).pop();
    if (line && node) { unfold(node); choose(node.n, false); }
  });

  // Keys.
  function beside(node, by) {
    const row = now().graphs[node.graph].nodes.map(([n]) => now().nodes[n]).filter((n) => n.rank === node.rank).sort((a, b) => a.cx - b.cx);
    return row[row.indexOf(node) + by];
  }
  function walk(key) {
    const view = now(), node = view.nodes[state.chosen];
    if (!node) return view.nodes[view.graphs[view.tops[0]].nodes[0]?.[0]];
    if (key === "ArrowLeft") return beside(node, -1);
    if (key === "ArrowRight") return beside(node, 1);
    if (key === "ArrowUp") return node.into.length ? view.nodes[node.into[0]] : around(node);
    return node.open ? view.nodes[view.graphs[node.inside[0]].nodes[0][0]] : view.nodes[node.out[0]];
  }
  const keys = {
    "/": () => { find.focus(); find.select(); }, "0": () => get("fit").click(), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8),
    o: () => all(true), c: () => all(false), t: () => get("side").click(),
    "[": () => show(Math.max(0, state.step - 1)), "]": () => show(Math.min(data.steps.length - 1, state.step + 1)),
    "{": () => beginGroup(-1), "}": () => beginGroup(1),
    Escape: () => {
      if (find.value) { find.value = ""; search(); return; }
      const node = now().nodes[state.chosen];
      if (node && node.open) toggle(node, false); else if (node && around(node)) { choose(around(node).n); } else choose(-1);
    },
  };
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target === find) {
      if (e.key === "Enter") nextHit(e.shiftKey ? -1 : 1);
      if (e.key === "Escape") { find.value = ""; search(); find.blur(); choose(Math.max(state.chosen, 0)); e.preventDefault(); }
      return;
    }
    if (e.target.closest?.("button, input, select, #text") && e.key !== "/" && e.key !== "Escape") return;
    if (e.key.startsWith("Arrow")) { const next = walk(e.key); if (next) choose(next.n); e.preventDefault(); return; }
    if (e.key === "Enter" || e.key === " ") { const node = now().nodes[state.chosen]; if (node) { if (node.inside) toggle(node); choose(node.n); e.preventDefault(); } return; }
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
  });
  canvas.addEventListener("focusin", (e) => { const n = e.target.closest(".node"); if (n && +n.dataset.node !== state.chosen) choose(+n.dataset.node, false); });

  get("fit").onclick = () => { state.moved = true; fit(); };
  get("in").onclick = () => zoom(1.25);
  get("out").onclick = () => zoom(0.8);
  get("open").onclick = () => all(true);
  get("close").onclick = () => all(false);
  get("side").onclick = () => { panel.hidden = !panel.hidden; get("side").setAttribute("aria-pressed", !panel.hidden); };
  get("step").oninput = (e) => show(+e.target.value);
  get("back").onclick = () => show(Math.max(0, state.step - 1));
  get("next").onclick = () => show(Math.min(data.steps.length - 1, state.step + 1));
  get("group").onchange = (e) => show(+e.target.value);
  find.oninput = search;
  show(0);
  document.documentElement.dataset.ready = "yes";
})();
