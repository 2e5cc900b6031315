/* What every live part is built from: elements, sliders, choices, a line chart. */
(function () {
  "use strict";
  const PCLive = window.PCLive;
  const SVG = "http://www.w3.org/2000/svg";
  let ids = 0;
  PCLive.parts = PCLive.parts || {};

  /* Whether the reader asked the system for less motion: then parts jump to the end. */
  PCLive.quiet = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {}))
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  }

  const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const id = () => `pc-${++ids}`;

  /* A number as text, minus sign and all. */
  function number(value, digits = 2) {
    if (!Number.isFinite(value)) return "∞";
    const text = Math.abs(value) >= 1e4 ? value.toExponential(1) : value.toFixed(digits);
    return (/^-0\.?0*$/.test(text) ? text.slice(1) : text).replace("-", "−");
  }

  function slider({ label, min, max, step, value, show = number, oninput, title }) {
    const key = id(), out = h("output", { for: key });
    const input = h("input", { type: "range", id: key, min, max, step, title });
    const tell = () => { out.textContent = show(+input.value); input.setAttribute("aria-valuetext", out.textContent); };
    const set = (to) => { input.value = to; tell(); };
    input.addEventListener("input", () => { tell(); oninput(+input.value); });
    input.value = value;
    tell();
    return { row: h("div", { class: "pc-slider" }, h("label", { for: key }, label), input, out), input, set,
             get value() { return +input.value; } };
  }

  /* A few answers of which one is chosen, as radio buttons that look like one bar. */
  function choice({ legend, options, value, onchange, hidden = false }) {
    const name = id(), inputs = {};
    const bar = h("fieldset", { class: "pc-choice" }, h("legend", { class: hidden ? "pc-unseen" : null }, legend));
    const row = h("div", { class: "pc-bar" });
    for (const [key, text] of Object.entries(options)) {
      inputs[key] = h("input", { type: "radio", name, value: key, id: `${name}-${key}`, onchange: () => onchange(key) });
      row.append(inputs[key], h("label", { for: `${name}-${key}` }, text));
    }
    bar.append(row);
    const set = (key) => { inputs[key].checked = true; };
    set(value);
    return { row: bar, set, get value() { return Object.keys(inputs).find((key) => inputs[key].checked); } };
  }

  function select({ label, options, value, onchange }) {
    const key = id();
    const input = h("select", { id: key, onchange: () => onchange(input.value) },
                    Object.entries(options).map(([name, text]) => h("option", { value: name }, text)));
    input.value = value;
    return { row: h("div", { class: "pc-select" }, h("label", { for: key }, label), input), input,
             set: (to) => { input.value = to; }, get value() { return input.value; } };
  }

  const button = (text, onclick, more = {}) => h("button", { type: "button", onclick, ...more }, text);

  /* The energy over value steps, with a mark at the step that is shown. Its text says what the line does. */
  class Chart {
    constructor(title = "Energy") {
      this.title = title;
      this.line = s("path", { class: "pc-line" });
      this.mark = s("line", { class: "pc-mark", y1: 12, y2: 118 });
      this.dot = s("circle", { class: "pc-dot", r: 4 });
      this.top = s("text", { x: 34, y: 16, "text-anchor": "end" });
      this.right = s("text", { x: 312, y: 134, "text-anchor": "end" });
      this.now = s("text", { class: "pc-now", y: 30 });
      this.words = s("title", {}, `${title}: no answer yet`);
      this.svg = s("svg", { viewBox: "0 0 320 140", class: "pc-chart", role: "img" }, this.words,
                   s("path", { class: "pc-axis", d: "M40 12V118H312" }), s("text", { x: 34, y: 121, "text-anchor": "end" }, "0"),
                   s("text", { x: 40, y: 134 }, "step 0"), this.top, this.right, this.line, this.mark, this.dot, this.now);
      this.show([], 0, 1);
    }

    show(energies, at, steps) {
      const some = energies.length > 0;
      for (const part of [this.line, this.mark, this.dot, this.now, this.top])
        part.setAttribute("visibility", some ? "visible" : "hidden");
      this.right.textContent = `${steps}`;
      if (!some) return;
      let high = 1e-12;
      for (const e of energies) if (Number.isFinite(e)) high = Math.max(high, Math.min(e, 50 * energies[0] + 1e-9));
      const x = (t) => 40 + (272 * t) / Math.max(1, steps);
      const y = (e) => 118 - 104 * Math.min(1, (Number.isFinite(e) ? e : high) / high);
      let d = "";
      const stride = Math.max(1, Math.floor(energies.length / 400));
      for (let t = 0; t < energies.length; t += stride) d += `${t ? "L" : "M"}${x(t).toFixed(1)} ${y(energies[t]).toFixed(1)}`;
      const last = energies.length - 1;
      d += `L${x(last).toFixed(1)} ${y(energies[last]).toFixed(1)}`;
      this.line.setAttribute("d", d);
      this.mark.setAttribute("x1", x(at));
      this.mark.setAttribute("x2", x(at));
      this.dot.setAttribute("cx", x(at));
      this.dot.setAttribute("cy", y(energies[at]));
      this.top.textContent = number(high, high < 10 ? 1 : 0);
      this.now.textContent = `E = ${number(energies[at], energies[at] < 1 ? 3 : 2)}`;
      const late = x(at) > 200;
      this.now.setAttribute("x", late ? x(at) - 8 : x(at) + 8);
      this.now.setAttribute("text-anchor", late ? "end" : "start");
      this.words.textContent = `${this.title} over value steps: from ${number(energies[0])} at step 0 to ` +
        `${number(energies[last])} at step ${last}`;
    }
  }

  Object.assign(PCLive, { h, s, id, number, slider, choice, select, button, Chart });
})();
