"use strict";
(() => {
  for (const part of document.querySelectorAll(".needs-script")) part.hidden = false;

  // the theme: that of the system until somebody chooses
  // which other pages of a site keep, where the browser lets them
  const kept = (choice) => { try { if (choice) localStorage.setItem("irbench-theme", choice); return localStorage.getItem("irbench-theme"); } catch { return null; } };
  const root = document.documentElement, theme = document.getElementById("theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; kept(root.dataset.theme); name(); });
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  name();

  // code is copied, also where the browser keeps its clipboard from pages without a certificate
  for (const button of document.querySelectorAll("button.copy")) {
    const block = button.parentElement.querySelector("pre"), copied = button.parentElement.querySelector(".copied");
    const selected = () => {
      getSelection().selectAllChildren(block);
      return document.execCommand("copy");
    };
    button.addEventListener("click", async () => {
      let done = true;
      try { await navigator.clipboard.writeText(block.textContent); } catch { done = selected(); }
      copied.textContent = done ? "Copied" : "Selected: press Ctrl+C";
      setTimeout(() => { copied.textContent = ""; }, 4000);
    });
  }

  // a row is shown where it holds every word, and what is chosen of each column
  for (const form of document.querySelectorAll("[data-filter]")) {
    const rows = [...document.getElementById(form.dataset.filter).tBodies[0].rows];
    const search = form.querySelector("input"), choices = [...form.querySelectorAll("select")], count = form.querySelector(".count");
    let texts;
    form.addEventListener("input", () => {
      texts ||= rows.map((row) => row.textContent.toLowerCase());
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const chosen = choices.filter((choice) => choice.value);
      let shown = 0;
      rows.forEach((row, place) => {
        const fits = (choice) => row.cells[choice.dataset.column].textContent === choice.value;
        row.hidden = !(words.every((word) => texts[place].includes(word)) && chosen.every(fits));
        shown += !row.hidden;
      });
      count.textContent = words.length || chosen.length ? `${shown} of ${rows.length} rows` : "";
    });
  }

  // a row is the same one in its table and in every chart
  const light = (key) => {
    for (const part of document.querySelectorAll("[data-row]")) part.classList.toggle("on", part.dataset.row === key);
    for (const chart of document.querySelectorAll(".chart"))
      chart.classList.toggle("dimmed", Boolean(key) && Boolean(chart.querySelector("[data-row].on")));
  };
  const rowOf = (target) => target instanceof Element && target.closest("[data-row]");
  document.addEventListener("pointerover", (event) => {
    const part = rowOf(event.target);
    light(part ? part.dataset.row : "");
    const figure = part && part.closest("figure");
    if (figure) figure.querySelector(".mark").textContent = part.getAttribute("aria-label");
  });

  // a chart is one stop of the tabulator, the arrow keys go from mark to mark
  for (const chart of document.querySelectorAll(".chart")) {
    const marks = [...chart.querySelectorAll("[data-row]")];
    if (!marks.length) continue;
    const said = chart.closest("figure").querySelector(".mark");
    let at = -1;
    const go = (place) => {
      if (at >= 0) marks[at].classList.remove("at");
      at = Math.min(Math.max(place, 0), marks.length - 1);
      marks[at].classList.add("at");
      light(marks[at].dataset.row);
      said.textContent = marks[at].getAttribute("aria-label");
    };
    chart.tabIndex = 0;
    chart.addEventListener("keydown", (event) => {
      const places = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: marks.length - 1 };
      if (event.key in places) { event.preventDefault(); go(places[event.key]); }
      if (event.key === "Escape") { if (at >= 0) marks[at].classList.remove("at"); at = -1; light(""); said.textContent = ""; }
    });
    chart.addEventListener("blur", () => { if (at >= 0) marks[at].classList.remove("at"); at = -1; light(""); });
  }
})();
