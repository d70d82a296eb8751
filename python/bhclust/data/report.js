"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const n = data.n;
  const kids = data.kids;
  const total = n + kids.length / 2;
  const width = data.fields.length;
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const MISSING = 63;
  const MOST_BOXES = 1500;
  const FIRST_BOXES = 40;
  const DEEPEST = 60;
  const ROW = 26;
  const find = (id) => document.getElementById(id);
  const view = find("view");
  const svg = find("tree-picture");
  const canvas = find("cells");
  const about = find("about");
  const tip = find("tip");
  const live = find("live");

  const number = (value) => value.toLocaleString("en-US");
  const counted = (value) =>
    `${number(value)} ${value === 1 ? data.unit.replace(/s$/, "") : data.unit}`;
  const percent = (share) =>
    share > 0.995 ? "over 99%" : share < 0.005 ? "under 1%" : `${Math.round(100 * share)}%`;
  const nameOf = (row) => (data.names ? data.names[row] : `row ${row}`);

  function element(tag, attributes = {}, ...inside) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  }
  function drawn(tag, attributes = {}, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // Children have lower numbers than their parents: one pass up, one pass down.
  const parent = new Int32Array(total).fill(-1);
  const size = new Int32Array(total).fill(1);
  const below = new Int32Array(total);
  const together = new Float64Array(total).fill(1);
  const start = new Int32Array(total);
  const order = new Int32Array(n);
  const left = (node) => kids[2 * (node - n)];
  const right = (node) => kids[2 * (node - n) + 1];
  const odds = (node) => data.odds[node - n];
  below.set(data.labels);
  for (let node = n; node < total; node++) {
    const a = left(node);
    const b = right(node);
    parent[a] = parent[b] = node;
    size[node] = size[a] + size[b];
    below[node] = below[a] === below[b] ? below[a] : -1;
  }
  let place = 0;
  for (const root of data.roots) {
    start[root] = place;
    place += size[root];
  }
  for (let node = total - 1; node >= 0; node--) {
    const up = parent[node];
    if (node >= n) {
      const r = 1 / (1 + Math.exp(-odds(node)));
      together[node] = up < 0 ? r : together[up] + (1 - together[up]) * r;
      start[left(node)] = start[node];
      start[right(node)] = start[node] + size[left(node)];
    } else {
      order[start[node]] = node;
    }
  }
  const isTop = (node) => below[node] >= 0 && (parent[node] < 0 || below[parent[node]] < 0);
  const topOf = new Map();
  for (let node = 0; node < total; node++) if (isTop(node)) topOf.set(below[node], node);
  // Labels in the order of the leaves, to list and to count the clusters of a branch.
  const firstOf = [...topOf.entries()].map(([label, node]) => [start[node], label]);
  firstOf.sort((a, b) => a[0] - b[0]);
  function labelsBelow(node) {
    if (below[node] >= 0) return [below[node]];
    let low = 0;
    let high = firstOf.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (firstOf[middle][0] < start[node]) low = middle + 1;
      else high = middle;
    }
    const found = [];
    for (let at = low; at < firstOf.length && firstOf[at][0] < start[node] + size[node]; at++)
      found.push(firstOf[at][1]);
    return found;
  }

  // Sums of the cells over the leaves before each place, so that any branch has its means at once.
  const sums = new Float64Array((n + 1) * width);
  const present = new Uint32Array((n + 1) * width);
  const code = new Uint8Array(128);
  for (let letter = 0; letter < 64; letter++) code[ALPHABET.charCodeAt(letter)] = letter;
  for (let at = 0; at < n; at++) {
    for (let field = 0; field < width; field++) {
      const here = at * width + field;
      const level = code[data.cells.charCodeAt(order[at] * width + field)];
      const is = level !== MISSING;
      sums[here + width] = sums[here] + (is ? level / 62 : 0);
      present[here + width] = present[here] + (is ? 1 : 0);
    }
  }
  function mean(node, field) {
    const a = start[node] * width + field;
    const b = a + size[node] * width;
    const many = present[b] - present[a];
    return many ? (sums[b] - sums[a]) / many : NaN;
  }

  function times(logRatio) {
    if (logRatio > Math.log(1e6)) return "> 1 million";
    const ratio = Math.exp(logRatio);
    if (ratio < 9.95) return String(Number(ratio.toFixed(1)));
    return number(Number(ratio.toPrecision(2)));
  }
  const oddsInWords = (value) => (value <= 0 ? `${times(-value)} : 1` : `1 : ${times(value)}`);

  let zoom = data.roots.slice();
  const open = new Set();
  let selected = -1;
  let items = [];
  let holder = -1;

  function openLargest(most) {
    const { boxes } = shape();
    const queue = boxes.filter((node) => node >= n && below[node] < 0);
    let many = boxes.length;
    while (queue.length && many < most) {
      let best = 0;
      for (let at = 1; at < queue.length; at++) if (size[queue[at]] > size[queue[best]]) best = at;
      const [node] = queue.splice(best, 1);
      open.add(node);
      many++;
      for (const child of [left(node), right(node)])
        if (child >= n && below[child] < 0) queue.push(child);
    }
  }

  function shape() {
    const boxes = [];
    const entries = [];
    const stack = zoom.map((node) => [node, 1]).reverse();
    while (stack.length) {
      const [node, depth] = stack.pop();
      const isFork = node >= n && open.has(node);
      entries.push({ node, depth, isFork });
      if (isFork) stack.push([right(node), depth + 1], [left(node), depth + 1]);
      else boxes.push(node);
    }
    return { boxes, entries };
  }

  function words(node) {
    if (node < n) return nameOf(node);
    const labels = labelsBelow(node);
    if (labels.length > 1) return `${number(labels.length)} clusters`;
    return isTop(node) ? `cluster ${labels[0]}` : `part of cluster ${labels[0]}`;
  }
  function said(node, isFork) {
    const here = `${words(node)}, ${counted(size[node])}`;
    if (node < n) return `${nameOf(node)}, in cluster ${below[node]}, ${percent(data.sure[node])}`;
    const split = `odds of a split ${oddsInWords(odds(node))}`;
    return `${here}, ${isFork ? "open" : "closed"}, ${split}`;
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  // Viridis at five places, from low to high.
  const RAMP = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
  function colour(value) {
    if (Number.isNaN(value)) return "transparent";
    const at = Math.min(3.999, Math.max(0, 4 * value));
    const [a, b] = [RAMP[Math.floor(at)], RAMP[Math.floor(at) + 1]];
    return `rgb(${a.map((part, i) => Math.round(part + (at % 1) * (b[i] - part))).join(",")})`;
  }

  let layout = null;
  function render() {
    const { boxes, entries } = shape();
    const level = new Map();
    const y = new Map();
    const head = width ? 92 : 12;
    boxes.forEach((node, at) => {
      level.set(node, 0);
      y.set(node, head + ROW * at + ROW / 2);
    });
    let levels = 0;
    for (let at = entries.length - 1; at >= 0; at--) {
      const { node, isFork } = entries[at];
      if (!isFork) continue;
      const [a, b] = [left(node), right(node)];
      level.set(node, 1 + Math.max(level.get(a), level.get(b)));
      y.set(node, (y.get(a) + y.get(b)) / 2);
      levels = Math.max(levels, level.get(node));
    }
    const room = view.clientWidth - 2;
    const cell = width ? Math.min(15, Math.max(9, (0.32 * room) / width)) : 0;
    const cells = Math.round(cell * width);
    const step = levels ? Math.min(54, Math.max(9, (0.22 * Math.max(room, 620)) / levels)) : 0;
    const stem = 44 + step * levels;
    const label = Math.max(170, room - stem - cells - 60);
    const whole = stem + label + cells + 60;
    const tall = head + ROW * boxes.length + 8;
    const x = (node) => (level.get(node) ? stem - step * (level.get(node) - 0.35) : stem + 2);
    layout = { boxes, head, cell, left: stem + label + 10, right: stem + label + 10 + cells, stem, label };

    svg.setAttribute("width", whole);
    svg.setAttribute("height", tall);
    svg.replaceChildren();
    data.fields.forEach((name, field) => {
      const at = layout.left + cell * (field + 0.5);
      const text = fitted(name, 10.5, 96);
      const turn = `translate(${at + 3} ${head - 5}) rotate(-65)`;
      svg.append(drawn("text", { transform: turn, class: "fieldname" }, text));
    });
    const tree = drawn("g", {
      role: "tree",
      "aria-label": "Tree of the clusters. Arrow keys move, Enter opens and closes, Z zooms in.",
    });
    svg.append(tree);
    items = [];
    for (const { node, depth, isFork } of entries) {
      const item = isFork ? fork(node, x, y, step) : box(node, y.get(node));
      const up = parent[node];
      item.setAttribute("class", "item");
      item.setAttribute("role", "treeitem");
      item.setAttribute("aria-level", depth);
      if (node >= n) item.setAttribute("aria-expanded", isFork);
      item.setAttribute("aria-selected", node === selected);
      item.setAttribute("aria-setsize", depth > 1 ? 2 : zoom.length);
      item.setAttribute("aria-posinset", depth > 1 ? (left(up) === node ? 1 : 2) : zoom.indexOf(node) + 1);
      item.setAttribute("aria-label", said(node, isFork));
      item.setAttribute("tabindex", "-1");
      item.dataset.node = node;
      tree.append(item);
      items.push(item);
    }
    const entry = items.find((item) => Number(item.dataset.node) === holder) || items[0];
    holder = Number(entry.dataset.node);
    entry.setAttribute("tabindex", "0");
    paint(tall);
    find("up").disabled = zoom.length === data.roots.length && zoom[0] === data.roots[0];
    const inView = zoom.reduce((sum, node) => sum + size[node], 0);
    const branches = `${number(boxes.length)} ${boxes.length === 1 ? "branch" : "branches"}`;
    const of = inView < n ? ` of ${number(n)}` : "";
    find("shown").textContent = `${branches}, ${counted(inView)}${of}`;
  }

  function fork(node, x, y, step) {
    const group = drawn("g");
    const [a, b] = [left(node), right(node)];
    const at = x(node);
    const bold = 1 + Math.min(2, Math.max(0, -odds(node) / 7));
    const path = drawn("path", {
      d: `M${x(a)} ${y.get(a)}H${at}V${y.get(b)}H${x(b)}`,
      "stroke-width": bold,
    });
    if (odds(node) > 0) path.setAttribute("stroke-dasharray", "4 3");
    group.append(path, drawn("circle", { class: "dot", cx: at, cy: y.get(node), r: 5 }));
    if (step >= 40) {
      const how = { class: "odds", x: at - 6, y: y.get(node) - 6, "text-anchor": "end" };
      const told = oddsInWords(odds(node)).replace("> 1 million", ">1M");
      group.append(drawn("text", how, told));
    }
    return group;
  }

  const ruler = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  function wide(text, points) {
    ruler.font = `${points}px ${family}`;
    return ruler.measureText(text).width;
  }
  function fitted(text, points, room) {
    if (wide(text, points) <= room) return text;
    const letters = [...text].slice(0, Math.ceil(room / 2));
    while (letters.length && wide(`${letters.join("")}…`, points) > room) letters.pop();
    return `${letters.join("")}…`;
  }

  function box(node, y) {
    const group = drawn("g");
    const { stem, label } = layout;
    const isMany = below[node] < 0;
    const face = { x: stem + 2, y: y - 11, width: label, height: 22, rx: 4 };
    group.append(drawn("rect", { ...face, class: isMany ? "face many" : "face" }));
    const hue = isMany ? "" : `c${below[node] % 6}`;
    const chip = { x: stem + 2, y: y - 11, width: 5, height: 22, rx: 2, class: hue };
    if (!isMany) group.append(drawn("rect", chip));
    const head = fitted(words(node), 12, label - 70);
    group.append(drawn("text", { x: stem + 14, y: y + 4 }, head));
    const right = stem + label - 6;
    const end =
      node < n ? (isTop(node) ? "alone" : percent(data.sure[node])) : number(size[node]);
    group.append(drawn("text", { class: "words", x: right, y: y + 4, "text-anchor": "end" }, end));
    const left = stem + 24 + wide(head, 12);
    const rest = right - 10 - wide(end, 10.5) - left;
    const told = isTop(node) && node >= n ? data.shorts[below[node]] : isMany ? largestOf(node) : "";
    if (told && rest > 50)
      group.append(drawn("text", { class: "words", x: left, y: y + 4 }, fitted(told, 10.5, rest)));
    return group;
  }

  // The first number below a branch is that of its largest cluster.
  function largestOf(node) {
    const label = labelsBelow(node).reduce((a, b) => Math.min(a, b));
    return data.shorts[label] ? `with ${label}: ${data.shorts[label]}` : `with ${label}`;
  }

  function paint(tall) {
    const { boxes, head, cell, left: at } = layout;
    // A canvas has a size that browsers limit; the rest of its sharpness is given up first.
    const ratio = Math.min(window.devicePixelRatio || 1, 16000 / tall);
    const wide = Math.max(1, Math.ceil(cell * width));
    canvas.width = wide * ratio;
    canvas.height = tall * ratio;
    Object.assign(canvas.style, { left: `${at}px`, top: "0", width: `${wide}px`, height: `${tall}px` });
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, wide, tall);
    boxes.forEach((node, row) => {
      for (let field = 0; field < width; field++) {
        const value = mean(node, field);
        const [cx, cy] = [field * cell, head + ROW * row + 2];
        pen.fillStyle = colour(value);
        pen.fillRect(cx, cy, cell - 0.6, ROW - 4);
        if (Number.isNaN(value)) {
          pen.strokeStyle = dark.matches ? "#39424c" : "#d5dae0";
          pen.strokeRect(cx + 0.5, cy + 0.5, cell - 2, ROW - 5);
        }
      }
    });
  }

  function bar(share, most, isAgainst) {
    const made = drawn("svg", {
      class: isAgainst ? "bar against" : "bar",
      viewBox: "0 0 100 10",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    made.append(drawn("rect", { width: (100 * Math.abs(share)) / most, height: 10 }));
    return made;
  }

  function contributions(node) {
    const parts = data.explained[node];
    if (!parts) return [];
    const most = Math.max(...parts.map(([, value]) => Math.abs(value)), 1e-9);
    const body = element("tbody");
    for (const [column, value] of parts) {
      const name = element("td", {}, element("bdi", {}, data.columns[column]));
      const told = element("td", { class: "number" }, Math.abs(value).toFixed(1));
      const side = element("td", {}, value < 0 ? "split" : "one");
      body.append(element("tr", {}, name, element("td", {}, bar(value, most, value < 0)), told, side));
    }
    return [
      element("h4", {}, "What the columns say here"),
      element("p", { class: "faint" }, "Evidence of each column for one cluster or for a split, in nats (about 0.7 doubles the odds); the strongest come first."),
      element("table", {}, body),
    ];
  }

  function traitsOf(label) {
    const row = find(`cluster-${label}`);
    return row ? [...row.cells[3].querySelectorAll("bdi")].map((one) => one.textContent) : [];
  }

  function tell(node) {
    const labels = labelsBelow(node);
    const parts = [];
    parts.push(element("h3", {}, element("bdi", {}, words(node))));
    const told = (text) => parts.push(element("p", {}, text));
    if (node < n) {
      const alone = isTop(node);
      told(`In cluster ${below[node]}${alone ? ", the only one there" : ""}; chance that it ${alone ? "stands alone" : "belongs with the others there"}: ${percent(data.sure[node])}.`);
      const doubt = data.doubt[node];
      if (doubt) {
        const where = doubt[1] < 0 ? "a cluster of its own" : `cluster ${doubt[1]}`;
        told(`Set aside, it finds back to its cluster with a chance of ${percent(doubt[0])}, and to ${where} with ${percent(doubt[2])}.`);
      }
    } else {
      told(`${counted(size[node])}. Chance that they are all of one cluster: ${percent(together[node])}.`);
      told(`Odds that the two sides are different kinds, from these ${data.unit} alone: ${oddsInWords(odds(node))}.`);
    }
    if (labels.length > 1) told(`Clusters ${labels.slice(0, 30).join(", ")}${labels.length > 30 ? ", …" : ""}.`);
    else if (traitsOf(labels[0]).length) {
      parts.push(element("h4", {}, `What sets cluster ${labels[0]} apart`));
      const list = element("ul");
      for (const text of traitsOf(labels[0])) list.append(element("li", {}, element("bdi", {}, text)));
      parts.push(list);
    }
    if (node >= n) parts.push(...contributions(node));
    const up = parent[node];
    const tools = element("p", { class: "bar-tools" });
    const button = (text, act) => {
      const made = element("button", { type: "button" }, text);
      made.addEventListener("click", act);
      tools.append(made);
    };
    if (node >= n) button(open.has(node) ? "Close" : "Open", () => toggle(node));
    if (node >= n) button("Zoom in", () => zoomTo(node));
    if (up >= 0) button("Branch above", () => show(up));
    parts.push(tools);
    if (node >= n) {
      const most = 200;
      parts.push(element("h4", {}, size[node] > most ? `The first ${most}` : "Names"));
      const rows = element("p");
      for (let at = start[node]; at < start[node] + Math.min(size[node], most); at++)
        rows.append(at > start[node] ? ", " : "", element("bdi", {}, nameOf(order[at])));
      parts.push(rows);
    }
    about.replaceChildren(...parts);
  }

  function toggle(node) {
    if (node < n) return;
    if (open.has(node)) open.delete(node);
    else if (layout.boxes.length >= MOST_BOXES) {
      live.textContent = "Too many branches are open; zoom in on one first.";
      return;
    } else open.add(node);
    choose(node, true);
    live.textContent = said(node, open.has(node));
  }

  function choose(node, focus) {
    selected = holder = node;
    render();
    tell(node);
    if (focus) focusOn(node);
  }
  function focusOn(node) {
    const item = items.find((one) => Number(one.dataset.node) === node);
    if (!item) return;
    for (const one of items) one.setAttribute("tabindex", one === item ? "0" : "-1");
    holder = node;
    item.focus({ preventScroll: true });
    const mark = item.querySelector(".face, .dot").getBoundingClientRect();
    const frame = view.getBoundingClientRect();
    if (mark.top < frame.top || mark.bottom > frame.bottom)
      view.scrollTop += mark.top - frame.top - frame.height / 2;
  }

  function zoomTo(node) {
    zoom = [node];
    open.add(node);
    openLargest(Math.min(FIRST_BOXES, size[node]));
    choose(node, true);
    live.textContent = `Zoomed in on ${words(node)}, ${counted(size[node])}.`;
  }
  function zoomOut(focus) {
    const up = zoom.length === 1 ? parent[zoom[0]] : -1;
    zoom = up < 0 ? data.roots.slice() : [up];
    if (up >= 0) open.add(up);
    choose(zoom[0], focus === true);
    live.textContent = `Zoomed out to ${words(zoom[0])}.`;
  }
  function reset() {
    zoom = data.roots.slice();
    open.clear();
    openLargest(FIRST_BOXES);
  }

  // Opens what is above a node; where that is too deep a chain, from some branch above it.
  function show(node) {
    let top = node;
    for (let steps = 0; parent[top] >= 0; top = parent[top]) {
      if (zoom.includes(top)) break;
      if (++steps > DEEPEST) break;
    }
    if (!zoom.includes(top)) zoom = parent[top] < 0 ? data.roots.slice() : [top];
    if (layout && layout.boxes.length > MOST_BOXES - DEEPEST) open.clear();
    for (let up = parent[node]; up >= 0; up = parent[up]) {
      open.add(up);
      if (up === top) break;
    }
    choose(node, true);
    find("tree").scrollIntoView({ block: "nearest" });
  }

  svg.addEventListener("click", (event) => {
    const item = event.target.closest(".item");
    if (!item) return;
    const node = Number(item.dataset.node);
    if (node >= n) toggle(node);
    else choose(node, true);
  });
  svg.addEventListener("keydown", (event) => {
    const item = event.target.closest(".item");
    if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
    const node = Number(item.dataset.node);
    const at = items.indexOf(item);
    const to = (place) => {
      const found = items[Math.min(items.length - 1, Math.max(0, place))];
      choose(Number(found.dataset.node), true);
    };
    const acts = {
      ArrowDown: () => to(at + 1),
      ArrowUp: () => to(at - 1),
      Home: () => to(0),
      End: () => to(items.length - 1),
      ArrowRight: () => (node >= n && !open.has(node) ? toggle(node) : to(at + (node >= n ? 1 : 0))),
      ArrowLeft: () => {
        if (node >= n && open.has(node)) toggle(node);
        else if (parent[node] >= 0 && !zoom.includes(node)) choose(parent[node], true);
      },
      Enter: () => (node >= n ? toggle(node) : choose(node, true)),
      " ": () => choose(node, true),
      z: () => node >= n && zoomTo(node),
      Escape: () => zoomOut(true),
    };
    const act = acts[event.key] || acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });

  view.addEventListener("pointermove", (event) => {
    const frame = svg.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const row = Math.floor((y - layout.head) / ROW);
    let text = "";
    const item = event.target.closest && event.target.closest(".item");
    if (item) {
      const node = Number(item.dataset.node);
      text = said(node, open.has(node));
    } else if (row >= 0 && row < layout.boxes.length && x >= layout.left && x < layout.right) {
      const field = Math.floor((x - layout.left) / layout.cell);
      const node = layout.boxes[row];
      const value = mean(node, field);
      const where = Number.isNaN(value) ? "missing" : `${Math.round(100 * value)}% of its range`;
      text = `${words(node)}: ${data.fields[field]}, ${where}`;
    }
    tip.hidden = !text;
    tip.textContent = text;
    tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - 250)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  view.addEventListener("pointerleave", () => (tip.hidden = true));

  let small = null;
  function search() {
    const wanted = find("search").value.trim().toLowerCase();
    const list = find("hits");
    list.replaceChildren();
    if (!wanted) {
      live.textContent = "";
      return;
    }
    if (!small) small = Array.from({ length: n }, (_, row) => nameOf(row).toLowerCase());
    const found = [];
    for (let row = 0; row < n; row++) if (small[row].includes(wanted)) found.push(row);
    found.sort((a, b) => (small[b] === wanted) - (small[a] === wanted) || a - b);
    for (const row of found.slice(0, 12)) {
      const button = element("button", { type: "button", class: "plain", "data-row": row });
      button.append(element("bdi", {}, nameOf(row)), ` (cluster ${below[row]})`);
      button.addEventListener("click", () => show(row));
      list.append(element("li", {}, button));
    }
    const rest = found.length > 12 ? "; the first 12 are listed" : "";
    live.textContent = found.length ? `${counted(found.length)} found${rest}.` : "Nothing found.";
  }
  let waiting = 0;
  find("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 120);
  });
  find("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    search();
    const first = find("hits").querySelector("button");
    if (first) first.click();
  });
  find("up").addEventListener("click", zoomOut);
  find("reset").addEventListener("click", () => {
    reset();
    choose(zoom[0], false);
    live.textContent = "The clusters are shown.";
  });
  find("more").addEventListener("click", () => {
    const { boxes } = shape();
    const most = Math.min(MOST_BOXES, 2 * boxes.length);
    const queue = boxes.filter((node) => node >= n).sort((a, b) => size[b] - size[a]);
    let many = boxes.length;
    for (const node of queue) {
      if (many >= most) break;
      open.add(node);
      many++;
    }
    render();
    live.textContent = `${number(layout.boxes.length)} branches are shown.`;
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-cluster], [data-show]");
    if (!link) return;
    event.preventDefault();
    const { cluster, show: row } = link.dataset;
    show(cluster !== undefined ? topOf.get(Number(cluster)) : Number(row));
    find("tree").scrollIntoView({ block: "start" });
  });
  let resizing = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(render);
  });
  dark.addEventListener("change", render);

  find("tree").hidden = false;
  reset();
  selected = zoom[0];
  render();
  tell(selected);
})();
