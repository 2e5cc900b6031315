/* Filters of the scorecard: by verdict, by section, by words. Without this script every row is shown. */
"use strict";

(() => {
  const place = document.getElementById("claims-by-row");
  const rows = [...place.querySelectorAll("tbody tr")];
  const unique = (key) => [...new Set(rows.map((row) => row.dataset[key]))];

  const menu = (label, values) => {
    const box = document.createElement("label");
    const select = document.createElement("select");
    select.append(new Option("all", ""), ...values.map((value) => new Option(value, value)));
    box.append(`${label} `, select);
    return [box, select];
  };

  const [verdictBox, verdict] = menu("Verdict", unique("verdict").sort());
  const [sectionBox, section] = menu("Section", unique("section").sort((a, b) => a.localeCompare(b, "en", { numeric: true })));
  const wordsBox = document.createElement("label");
  const words = document.createElement("input");
  words.type = "search";
  wordsBox.append("Words ", words);
  const count = document.createElement("p");
  count.setAttribute("role", "status");

  const show = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = (verdict.value !== "" && row.dataset.verdict !== verdict.value)
        || (section.value !== "" && row.dataset.section !== section.value)
        || !row.textContent.toLowerCase().includes(wanted);
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} of ${rows.length} claims`;
  };

  const form = document.createElement("form");
  form.className = "filters";
  form.append(verdictBox, sectionBox, wordsBox, count);
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  place.prepend(form);
  show();
})();
