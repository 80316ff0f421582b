// What is live: parts marked with data-live are asked for again; a log is followed by its bytes.
"use strict";

const EVERY = 2000; // milliseconds
const MOST_LINES = 5000; // kept in the page
const said = document.getElementById("said");
const seen = new Map(); // what the server has last sent of each part
for (const part of document.querySelectorAll("[data-live]")) seen.set(part, part.innerHTML);
let mark = null;

// Whether the server answers: while it does not, the page says since when, and fades what was live.
const PATIENCE = 2500; // milliseconds until an answer that does not come is missed
const notice = document.getElementById("connection");
let asked = 0; // when the request was sent that waits for its answer; 0 if none does
let heard = new Date(); // the last answer
let connected = true;

function note(answers) {
  if (answers) heard = new Date();
  if (answers === connected) return;
  connected = answers;
  const since = heard.toLocaleTimeString("en-GB");
  notice.textContent = answers ? "" : `No connection to the local cloud since ${since}. `
    + "This page may be out of date. It continues by itself when the local cloud runs again.";
  notice.hidden = answers;
  document.body.classList.toggle("unconnected", !answers);
  const state = document.getElementById("log-state");
  if (state?.textContent === "Live") state.textContent = "No connection";
  if (answers) said.textContent = "The local cloud answers again.";
}

async function page() {
  asked = Date.now();
  try {
    const answer = await fetch(location.href, { headers: mark ? { "If-None-Match": mark } : {} });
    const text = await answer.text();
    note(answer.status < 502); // what a proxy says when nobody is behind it
    return { answer, text };
  } catch {
    note(false);
    return null;
  } finally {
    asked = 0;
  }
}

async function again() {
  if (document.hidden || asked) return;
  const found = await page();
  if (!found) return;
  const { answer, text } = found;
  if (answer.status === 401) return void location.reload();
  if (answer.status !== 200) return;
  mark = answer.headers.get("ETag");
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.getElementById(old.id);
    if (!now || seen.get(old) === now.innerHTML || old.querySelector("details.ask[open]")) continue;
    seen.set(old, now.innerHTML);
    if (old.id === "state") said.textContent = `The state is now: ${now.textContent.trim()}`;
    const kept = focused(old);
    const restore = choices(old);
    old.innerHTML = now.innerHTML;
    restore();
    sortable(old);
    readable(old);
    comparable();
    if (kept >= 0) targets(old)[kept]?.focus({ preventScroll: true });
  }
}

// Another scale, or smoothing, is drawn in place: the page is asked for again at its new address.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-look]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.replaceState(null, "", link.href);
  again().catch(() => { });
});

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

// What a reader has opened and ticked in a part that changes stays so.
function choices(part) {
  const opened = new Map([...part.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
  const ticks = [...part.querySelectorAll("input:checked")].map((one) => one.value);
  return () => {
    for (const one of part.querySelectorAll("details[id]")) one.open = opened.get(one.id) ?? one.open;
    for (const one of part.querySelectorAll("input")) one.checked = ticks.includes(one.value);
  };
}

// Jobs can be compared once two are ticked.
function comparable() {
  for (const form of document.querySelectorAll("form[action$=compare]")) {
    form.querySelector("button").disabled = form.querySelectorAll("input:checked").length < 2;
  }
}

// Whoever is on a link of a part that changes stays on it.
const targets = (part) => [...part.querySelectorAll("a, button, summary, input, [tabindex]")];
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
  if (!found) return true; // an error of the server says nothing about the log's end
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
    state.textContent = connected ? "Live" : "No connection";
    alive = document.hidden ? true : await follow(log).catch(() => true);
    if (alive) await new Promise((then) => setTimeout(then, 1000));
  }
  state.textContent = "The log is complete.";
}

for (const form of document.querySelectorAll("form.filters")) {
  form.addEventListener("change", () => form.requestSubmit());
}
document.addEventListener("change", comparable);
comparable();
sortable(document);
const log = document.getElementById("lines");
if (log && log.dataset.replica) {
  log.scrollTop = log.scrollHeight;
  document.getElementById("earlier").addEventListener("click", (event) => earlier(log, event.target));
  live(log);
}
if (document.querySelector("[data-live]")) {
  setInterval(() => again().catch(() => { }), EVERY);
  setInterval(() => { if (asked && Date.now() - asked > PATIENCE) note(false); }, 500);
  document.addEventListener("visibilitychange", () => again().catch(() => { }));
}
const menu = document.querySelector(".menu");
const wide = matchMedia("(min-width: 56rem)");
if (menu) {
  const fit = () => { menu.open = wide.matches; };
  wide.addEventListener("change", fit);
  fit();
}
