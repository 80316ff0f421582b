"use strict";
// The pages are complete without this; it adds what needs a script.

// On a narrow screen the list of pages is folded away behind a button.
const menu = document.querySelector("button.menu");
menu.hidden = false;
document.documentElement.classList.add("folds");
menu.addEventListener("click", () => {
  const open = menu.getAttribute("aria-expanded") !== "true";
  menu.setAttribute("aria-expanded", String(open));
});

// A button that copies, for every block of code (output is not copied).
function addCopyButton(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.innerHTML = '<span class="word">Copy</span><span class="unseen"> the code</span>';
  const word = button.firstChild;
  word.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(block.querySelector("code").textContent);
      word.textContent = "Copied";
    } catch {
      word.textContent = "Not allowed";
    }
    setTimeout(() => (word.textContent = "Copy"), 2000);
  });
  block.prepend(button);
}
if (navigator.clipboard) document.querySelectorAll("div.code").forEach(addCopyButton);

// What is wider than its frame scrolls by itself: by the keyboard too, and under a name.
const NAMES = { PRE: "Code", table: "Table", picture: "Picture" };
const frames = new ResizeObserver((changed) => {
  for (const { target } of changed) {
    const scrolls = target.scrollWidth > target.clientWidth;
    target.toggleAttribute("tabindex", scrolls);
    if (scrolls) target.tabIndex = 0;
    if (scrolls) target.role = "group";
    target.ariaLabel = scrolls ? `${NAMES[target.className || target.tagName]}, scrolls` : null;
  }
});
document.querySelectorAll("pre, .table, .picture").forEach((box) => frames.observe(box));

// A link to something inside a folded box opens the box.
function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let box = target?.closest("details"); box; box = box.parentElement.closest("details")) {
    box.open = true;
  }
  if (target?.closest("details")) target.scrollIntoView();
}
addEventListener("hashchange", openTarget);
openTarget();

// The list of pages shows the page that is open.
const here = document.querySelector(".pages [aria-current]");
const list = document.querySelector(".pages");
if (here && list.scrollHeight > list.clientHeight) {
  list.scrollTop = here.offsetTop - list.clientHeight / 3;
}
