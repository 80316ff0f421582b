// What is live: parts marked with data-live are asked for again; a log is followed by its bytes.
"use strict";

const EVERY = 2000; // milliseconds
const MOST_LINES = 5000; // kept in the page
const said = document.getElementById("said");
const seen = new Map(); // what the server has last sent of each part
for (const part of document.querySelectorAll("[data-live]")) seen.set(part, part.innerHTML);
let mark = null;

async function again() {
  if (document.hidden) return;
  const answer = await fetch(location.href, { headers: mark ? { "If-None-Match": mark } : {} });
  if (answer.status === 401) return void location.reload();
  if (answer.status !== 200) return;
  mark = answer.headers.get("ETag");
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(old.id);
    if (!now || seen.get(old) === now.innerHTML || old.querySelector("details.ask[open]")) continue;
    seen.set(old, now.innerHTML);
    if (old.id === "state") said.textContent = `The state is now: ${now.textContent.trim()}`;
    const kept = focused(old);
    old.innerHTML = now.innerHTML;
    sortable(old);
    if (kept >= 0) targets(old)[kept]?.focus({ preventScroll: true });
  }
}

// A click on a column's name sorts by it, and a second click the other way round.
const order = {}; // by the table: [column, whether the largest comes first]
const key = (row, column) => {
  const cell = row.cells[column];
  const text = cell.dataset.value ?? cell.textContent.trim().replace(/,(?=\d{3})/g, "");
  const number = parseFloat(text);
  return Number.isNaN(number) ? text.toLowerCase() : number;
};

function sort(table) {
  const [column, down] = order[table.dataset.sort];
  const compare = (a, b) => {
    const [x, y] = [key(a, column), key(b, column)];
    const alike = typeof x === typeof y;
    return alike ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
  };
  const rows = [...table.tBodies[0].rows].sort(compare);
  table.tBodies[0].append(...(down ? rows.reverse() : rows));
  [...table.tHead.rows[0].cells].forEach((cell, place) => {
    if (place === column) cell.setAttribute("aria-sort", down ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  });
}

function sortable(part) {
  for (const table of part.querySelectorAll("table[data-sort]")) {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = document.createElement("button");
      button.textContent = cell.textContent;
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        const [old, down] = order[table.dataset.sort] ?? [];
        order[table.dataset.sort] = [column, old === column && !down];
        sort(table);
      });
    });
    if (order[table.dataset.sort]) sort(table);
  }
}

// Whoever is on a link of a part that changes stays on it.
const targets = (part) => [...part.querySelectorAll("a, button, summary, [tabindex]")];
const focused = (part) => targets(part).indexOf(document.activeElement);

function show(log, lines, first) {
  const made = lines.map(({ time, text }) => {
    const row = document.createElement("div");
    const clock = document.createElement("time");
    const words = document.createElement("span");
    clock.textContent = time;
    words.textContent = text;
    row.append(clock, words);
    return row;
  });
  if (first) log.prepend(...made);
  else log.append(...made);
}

async function piece(log, query) {
  const asked = new URLSearchParams({ replica: log.dataset.replica, ...query });
  const answer = await fetch(`${log.dataset.source}?${asked}`);
  return answer.ok ? answer.json() : null;
}

async function follow(log) {
  const found = await piece(log, { from: log.dataset.from });
  if (!found) return false;
  show(log, found.lines, false);
  log.dataset.from = found.next;
  while (log.childElementCount > MOST_LINES) log.firstElementChild.remove();
  if (found.lines.length && document.getElementById("follow").checked) {
    log.scrollTop = log.scrollHeight;
  }
  if (found.more) return follow(log);
  return !found.ended;
}

async function earlier(log, button) {
  const found = await piece(log, { before: log.dataset.start });
  if (!found) return;
  const bottom = log.scrollHeight - log.scrollTop;
  show(log, found.lines, true);
  log.scrollTop = log.scrollHeight - bottom;
  log.dataset.start = found.start;
  button.hidden = found.start === 0;
}

async function live(log) {
  const state = document.getElementById("log-state");
  let alive = !log.dataset.ended;
  while (alive) {
    state.textContent = "Live";
    alive = document.hidden ? true : await follow(log).catch(() => true);
    if (alive) await new Promise((then) => setTimeout(then, 1000));
  }
  state.textContent = "The log is complete.";
}

sortable(document);
const log = document.getElementById("lines");
if (log && log.dataset.replica) {
  log.scrollTop = log.scrollHeight;
  document.getElementById("earlier").addEventListener("click", (event) => earlier(log, event.target));
  live(log);
}
if (document.querySelector("[data-live]")) {
  setInterval(() => again().catch(() => { }), EVERY);
}
const menu = document.querySelector(".menu");
const wide = matchMedia("(min-width: 56rem)");
if (menu) {
  const fit = () => { menu.open = wide.matches; };
  wide.addEventListener("change", fit);
  fit();
}
