// columns sort when their heading is activated: of tables below this class, each once
(() => {
  // numbers sort as numbers, what was not measured comes last in both directions
  const value = (row, column, isWords) => {
    const cell = row.cells[column];
    const text = cell ? cell.textContent.trim().replaceAll(",", "") : "";
    const number = isWords ? NaN : parseFloat(text.replace("±", ""));
    return Number.isNaN(number) ? (text === "-" ? "" : text) : number;
  };
  const compare = (a, b, direction) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return direction * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  };
  for (const table of document.querySelectorAll(".irbench table:not([data-sorts])")) {
    table.dataset.sorts = "";
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
        const isWords = head.classList.contains("words");
        const rows = [...table.tBodies[0].rows].map((row) => [value(row, column, isWords), row]);
        rows.sort((a, b) => compare(a[0], b[0], direction));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      });
    });
  }
})();
