"use strict";
// The pages are complete without this; it adds what needs a script.

// What is wider than its frame scrolls by itself: by the keyboard too, and under a name.
const frames = new ResizeObserver((changed) => {
  for (const { target } of changed) {
    const scrolls = target.scrollWidth > target.clientWidth;
    target.toggleAttribute("tabindex", scrolls);
    if (scrolls) target.tabIndex = 0;
    target.role = scrolls ? "group" : null;
    target.ariaLabel = scrolls ? (target.tagName === "PRE" ? "Code, scrolls" : "Scrolls") : null;
  }
});
document.querySelectorAll("pre, .table-wrapper, .picture").forEach((box) => frames.observe(box));

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

// The theme opens the lists of a narrow screen by labels, which the keyboard does not reach.
for (const label of document.querySelectorAll(".nav-overlay-icon, .toc-overlay-icon")) {
  const button = document.createElement("button");
  const box = document.getElementById(label.htmlFor);
  button.className = label.className;
  button.innerHTML = label.innerHTML;
  button.ariaLabel = box.id === "__toc" ? "Contents of this page" : "Pages of the lesson";
  button.addEventListener("click", () => (box.checked = !box.checked));
  label.replaceWith(button);
}
// Names for what has none.
document.querySelector(".sidebar-drawer").ariaLabel = "Search and pages";
document.querySelector(".toc-drawer").ariaLabel = "Contents of this page";
for (const button of document.querySelectorAll(".copybtn")) button.ariaLabel = "Copy the code";

// The list of pages shows the page that is open.
const here = document.querySelector(".sidebar-tree [aria-current]");
const list = document.querySelector(".sidebar-scroll");
if (here && list) list.scrollTop = here.offsetTop - list.clientHeight / 3;
