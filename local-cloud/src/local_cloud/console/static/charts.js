// The values of a chart at the pointer, or where the arrow keys have gone; the server has drawn it.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const NEAR = 8; // of the chart's units: further away a line has no value at the pointer
let pointed = null; // {part, place, at}: which chart shows values, and where, over a refresh too

const numbers = (pair) => pair.split(",").map(Number);

// What a chart can show: a stop for each epoch of its lines, or for each of its dots or whole lines.
function stops(svg) {
  const lines = [...svg.querySelectorAll("[data-at]")].map((line) => {
    const [values, smoothed] = [line.dataset.values, line.dataset.smoothed ?? ""].map((t) => t.split(" "));
    const pairs = (line.dataset.marks ?? line.getAttribute("points")).trim().split(" ");
    const at = line.dataset.at.split(" ");
    const points = pairs.map((pair, place) => {
      const [x, y] = numbers(pair);
      return { x, y, at: at[place], value: values[place], smoothed: smoothed[place] };
    });
    return { name: line.dataset.name, colour: line.classList[1], points };
  });
  const found = new Map();
  for (const { x, at } of lines.flatMap(({ points }) => points)) found.set(at, { x, at, lines });
  for (const dot of svg.querySelectorAll("circle[data-told]")) {
    const [x, y] = [dot.cx, dot.cy].map((length) => length.baseVal.value);
    found.set(dot.dataset.told, { x, y, at: dot.dataset.told });
  }
  for (const line of svg.querySelectorAll("polyline[data-told]")) {
    const way = line.getAttribute("points").trim().split(" ").map(numbers);
    const [x, y] = way.at(-1);
    found.set(line.dataset.told, { x, y, at: line.dataset.told, way });
  }
  return [...found.values()].sort((a, b) => a.x - b.x || (a.y ?? 0) - (b.y ?? 0));
}

// The title of a stop, and a row for each line that has a value there.
function described(stop, axis) {
  if (!stop.lines) {
    const [title, text] = stop.at.split(/: (.*)/s);
    return { title, rows: [{ text, x: stop.x, y: stop.y }] };
  }
  const near = stop.lines.map(({ name, colour, points }) => {
    const away = (point) => Math.abs(point.x - stop.x);
    return { name, colour, point: points.reduce((a, b) => (away(b) < away(a) ? b : a)) };
  }).filter(({ point }) => Math.abs(point.x - stop.x) <= NEAR);
  const rows = near.map(({ name, colour, point }) => {
    const where = point.at === stop.at ? "" : ` (${axis} ${point.at})`;
    const smoothed = point.smoothed ? `, smoothed ${point.smoothed}` : "";
    return { colour, text: `${name}${where} ${point.value}${smoothed}`, x: point.x, y: point.y };
  });
  return { title: `${axis} ${stop.at}`, rows };
}

function drawn(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function clear(plot) {
  plot.querySelectorAll(".cursor, .tip").forEach((old) => old.remove());
}

function point(plot, place) {
  const svg = plot.querySelector("svg");
  const stop = plot.stops[place];
  const { title, rows } = described(stop, svg.dataset.axis);
  clear(plot);
  const cursor = drawn("g", { class: "cursor" });
  if (stop.lines) cursor.append(drawn("line", { x1: stop.x, x2: stop.x, y1: svg.dataset.top, y2: svg.dataset.bottom }));
  if (stop.way) cursor.append(drawn("polyline", { class: "line", points: stop.way.join(" ") }));
  cursor.append(...rows.map(({ x, y, colour = "best" }) => drawn("circle", { class: colour, cx: x, cy: y, r: 5 })));
  svg.append(cursor);
  const tip = document.createElement("div");
  tip.className = "tip";
  const heading = document.createElement("b");
  heading.textContent = title;
  tip.append(heading, ...rows.map(({ text, colour }) => {
    const row = document.createElement("div");
    row.textContent = text;
    if (colour) row.className = colour;
    return row;
  }));
  const share = stop.x / svg.viewBox.baseVal.width;
  tip.style[share < 0.5 ? "left" : "right"] = `calc(${100 * (share < 0.5 ? share : 1 - share)}% + 12px)`;
  plot.append(tip);
  plot.setAttribute("aria-valuenow", place);
  plot.setAttribute("aria-valuetext", `${title}: ${rows.map(({ text }) => text).join("; ")}`);
  pointed = { ...placed(plot), at: stop.at };
}

function placed(plot) {
  const part = plot.closest("[id]");
  return { part: part.id, place: [...part.querySelectorAll(".plot")].indexOf(plot) };
}

function forget(plot) {
  clear(plot);
  pointed = null;
}

// How far above or below a line, that goes from left to right, a place is.
function besides(way, x, y) {
  if (way.length < 2) return Math.abs(way[0][1] - y);
  const within = Math.min(Math.max(x, way[0][0]), way.at(-1)[0]);
  const next = Math.max(way.findIndex(([place]) => place >= within), 1);
  const [[x1, y1], [x2, y2]] = [way[next - 1], way[next]];
  return Math.abs(y1 + ((within - x1) / (x2 - x1)) * (y2 - y1) - y);
}

function nearest(plot, event) {
  const svg = plot.querySelector("svg");
  const box = svg.getBoundingClientRect();
  const scale = svg.viewBox.baseVal.width / box.width;
  const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  const away = (stop) => stop.way ? besides(stop.way, x, y) : Math.hypot(stop.x - x, stop.lines ? 0 : stop.y - y);
  return plot.stops.reduce((best, stop, place) => (away(stop) < away(plot.stops[best]) ? place : best), 0);
}

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };

function press(plot, event) {
  if (event.key === "Escape") return forget(plot);
  if (!(event.key in STEPS)) return;
  event.preventDefault();
  const last = plot.stops.length - 1;
  point(plot, Math.min(Math.max(Number(plot.getAttribute("aria-valuenow")) + STEPS[event.key], 0), last));
}

// A chart is a slider: screen readers hand it the arrow keys, and read its value's text aloud.
function readable(part) {
  for (const plot of part.querySelectorAll(".plot")) {
    const svg = plot.querySelector("svg");
    plot.stops = stops(svg);
    const last = plot.stops.length - 1;
    if (last < 0) continue;
    const { title, rows } = described(plot.stops[last], svg.dataset.axis);
    const told = { role: "slider", tabindex: 0, "aria-label": svg.getAttribute("aria-label"),
      "aria-valuemin": 0, "aria-valuemax": last, "aria-valuenow": last,
      "aria-valuetext": `${title}: ${rows.map(({ text }) => text).join("; ")}` };
    for (const [name, value] of Object.entries(told)) plot.setAttribute(name, value);
    plot.addEventListener("pointermove", (event) => point(plot, nearest(plot, event)));
    plot.addEventListener("pointerdown", (event) => point(plot, nearest(plot, event)));
    plot.addEventListener("pointerleave", () => { if (document.activeElement !== plot) forget(plot); });
    plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) point(plot, Number(plot.getAttribute("aria-valuenow"))); });
    plot.addEventListener("blur", () => { if (plot.isConnected) forget(plot); });
    plot.addEventListener("keydown", (event) => press(plot, event));
    const { part: name, place } = placed(plot);
    if (pointed && pointed.part === name && pointed.place === place) {
      const again = plot.stops.findIndex(({ at }) => at === pointed.at);
      if (again >= 0) point(plot, again);
    }
  }
}

readable(document);
