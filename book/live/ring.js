/* The three-vertex graph of page 2: values and weights to drag, eq. 1 to 4 with the current numbers. */
(function () {
  "use strict";
  const { h, s, number, slider, choice, select, button, Chart, Graph, Problem } = window.PCLive;
  const EDGES = [[0, 1], [1, 2], [2, 0]], SUB = ["₁", "₂", "₃"];
  const PLACE = [[150, 52], [236, 200], [64, 200]], RADIUS = 30;
  const STORED = 1 / Math.tanh(1);
  const TRIES = {
    settle: { title: "Hold one, let two settle", x: [1, -1, -1], w: [0.9, 0.9, 0.9], held: [1, 0, 0], f: "tanh",
              say: "x₁ is held at 1. Press Run: x₂ moves towards its prediction from x₁, and x₃ towards its own from x₂." },
    memory: { title: "Pull back a memory", x: [1.2, 0.2, 1.2], w: [-STORED, -STORED, STORED], held: [0, 0, 0], f: "tanh",
              say: "These weights store (1, −1, 1), where the energy is 0. Nothing is held. Press Run, then drag a vertex away and run again." },
    other: { title: "Another minimum", x: [-0.4, 0.9, -0.8], w: [-STORED, -STORED, STORED], held: [0, 0, 0], f: "tanh",
             say: "The same weights, another start. Press Run: the values settle at (−1, 1, −1), which has no energy either." },
    frustrated: { title: "Three cannot agree", x: [1, 0, 0], w: [-1.5, -1.5, -1.5], held: [1, 0, 0], f: "tanh",
                  say: "Every edge wants its ends to differ, which is impossible for three vertices. Press Run: some energy remains." },
    intervene: { title: "Set instead of seen", x: [0, 1, 0], w: [0.9, 0.9, 0], held: [0, 1, 0], f: "tanh", set: true,
                 say: "x₂ is set to 1 from outside. Press Run: x₃ follows, and x₁, its cause, stays at 0. Then choose Observed and run again: now x₁ moves to explain x₂." },
    unstable: { title: "Too large a step size", x: [1, -1, -1], w: [1.4, 1.4, 1.4], held: [0, 0, 0], f: "linear", gamma: 0.6,
                say: "f is linear and γ is above 2 / λ. Press Run: the energy rises and the values run away. Then take a smaller γ." },
  };

  /* A number that fits into its circle, even where values run away. */
  const short = (value) => number(value, Math.abs(value) < 10 ? 2 : 0);

  function ring(weights, activation) {
    const w = new Float64Array(9);
    EDGES.forEach(([j, i], k) => { w[3 * j + i] = weights[k]; });
    return new Graph({ name: "ring", n: 3, groups: { vertices: [0, 3] }, activation,
                       blocks: [{ from: 0, to: 0, rows: 3, cols: 3, w }] });
  }
  window.PCLive.ring = ring;

  class Ring {
    constructor(body) {
      this.state = { x: [1, -1, -1], w: [0.9, 0.9, 0.9], held: [1, 0, 0], f: "tanh", gamma: 0.1, alpha: 0.1, set: false };
      this.energies = [];
      this.timer = null;
      this.build(body);
      this.take("settle");
    }

    build(body) {
      this.say = h("p", { class: "pc-say", "aria-live": "polite" });
      this.tries = choice({ legend: "Try this", options: Object.fromEntries(Object.entries(TRIES).map(([k, t]) => [k, t.title])),
                            value: "settle", onchange: (key) => this.take(key) });
      this.values = [0, 1, 2].map((i) => slider({ label: `x${SUB[i]}`, min: -2, max: 2, step: 0.01, value: 0,
                                                  oninput: (v) => this.change(() => { this.state.x[i] = v; }) }));
      this.clamps = [0, 1, 2].map((i) => h("input", { type: "checkbox", id: `pc-hold-${i}`,
        onchange: (e) => this.change(() => { this.state.held[i] = e.target.checked ? 1 : 0; }) }));
      this.weights = EDGES.map(([j, i], k) => slider({ label: `θ${SUB[j]}${SUB[i]}`, min: -2, max: 2, step: 0.01, value: 0,
        oninput: (v) => this.change(() => { this.state.w[k] = v; }) }));
      this.how = choice({ legend: "What is held was", options: { seen: "Observed", set: "Set (intervene)" }, value: "seen",
                          onchange: (how) => this.change(() => { this.state.set = how === "set"; }) });
      this.gamma = slider({ label: "γ, step size", min: 0.01, max: 1, step: 0.01, value: 0.1,
                            oninput: (v) => { this.state.gamma = v; this.draw(); } });
      this.f = select({ label: "f", options: { tanh: "tanh", linear: "linear", hardtanh: "HardTanh", relu: "ReLU" },
                        value: "tanh", onchange: (f) => this.change(() => { this.state.f = f; }) });
      this.run = button("Run", () => (this.timer ? this.stop() : this.start()), { class: "pc-main" });
      const buttons = h("div", { class: "pc-buttons" }, this.run, button("Step", () => { this.stop(); this.step(); }),
                        button("Learn: one update", () => { this.stop(); this.learn(); }));
      this.chart = new Chart();
      this.equations = h("div", { class: "pc-equations", tabindex: 0, role: "group",
                                  "aria-label": "The equations with the current numbers" });
      body.append(this.tries.row, this.say, h("div", { class: "pc-columns" },
        h("div", { class: "pc-column" }, this.picture(),
          h("p", {}, "Drag a circle or a weight up or down. Thick outline: large error. Thick arrow: large weight. Dashed arrow: cut, because its target is set."), buttons),
        h("div", { class: "pc-column" }, h("p", { class: "pc-head" }, "Values"),
          ...this.values.map((v, i) => h("div", { class: "pc-held" }, v.row,
            h("label", { for: `pc-hold-${i}` }, this.clamps[i], " hold"))),
          this.how.row,
          h("p", { class: "pc-head" }, "Weights"), ...this.weights.map((w) => w.row), this.gamma.row, this.f.row)),
        h("div", { class: "pc-columns pc-uneven" },
          h("div", { class: "pc-column" }, h("p", { class: "pc-head" }, "Energy, step by step"), this.chart.svg),
          h("div", { class: "pc-column" }, h("p", { class: "pc-head" }, "Equations 1 to 4, with the current numbers"), this.equations)));
    }

    picture() {
      const svg = s("svg", { viewBox: "0 0 300 262", class: "pc-ring", role: "group",
                             "aria-label": "Three vertices in a ring. Drag a vertex up or down to change its value, a weight to change it; the sliders do the same." });
      svg.append(s("defs", {}, s("marker", { id: "pc-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8,
                                           orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z", class: "pc-head-of-arrow" }))));
      this.edges = EDGES.map(([j, i], k) => this.edge(svg, PLACE[j], PLACE[i], k));
      this.vertices = PLACE.map(([x, y], i) => this.vertex(svg, x, y, i));
      return svg;
    }

    edge(svg, [ax, ay], [bx, by], k) {
      const dx = bx - ax, dy = by - ay, long = Math.hypot(dx, dy), out = RADIUS + 5;
      const mx = (ax + bx) / 2, my = (ay + by) / 2, away = 26, nx = dy / long, ny = -dx / long;
      const cx = mx + nx * away * 1.2, cy = my + ny * away * 1.2;
      const from = [cx - ax, cy - ay], to = [cx - bx, cy - by];
      const at = ([x, y], [vx, vy]) => { const l = Math.hypot(vx, vy); return `${x + (vx / l) * out} ${y + (vy / l) * out}`; };
      const path = s("path", { d: `M${at([ax, ay], from)}Q${cx} ${cy} ${at([bx, by], to)}`, class: "pc-edge", "marker-end": "url(#pc-arrow)" });
      const text = s("text", { x: mx + nx * away, y: my + ny * away + 5, "text-anchor": "middle" });
      const plate = s("rect", { x: mx + nx * away - 27, y: my + ny * away - 13, width: 54, height: 26, rx: 13 });
      const handle = s("g", { class: "pc-weight" }, plate, text);
      svg.append(path, handle);
      this.drag(handle, () => this.state.w[k], (v) => { this.state.w[k] = v; });
      return { path, text };
    }

    vertex(svg, x, y, i) {
      const circle = s("circle", { cx: x, cy: y, r: RADIUS }), value = s("text", { x, y: y + 14, "text-anchor": "middle", class: "pc-value" });
      const error = s("text", { x, y: y + RADIUS + 17, "text-anchor": "middle", class: "pc-error" });
      const handle = s("g", { class: "pc-vertex" }, circle, s("text", { x, y: y - 4, "text-anchor": "middle" }, `x${SUB[i]}`), value);
      svg.append(handle, error);
      this.drag(handle, () => this.state.x[i], (v) => { this.state.x[i] = v; });
      return { circle, value, error };
    }

    /* Up raises a number, down lowers it, by a mouse or pen on the handle. Fingers, which scroll, and keys use the sliders. */
    drag(handle, get, set) {
      let from = null;
      handle.addEventListener("pointerdown", (e) => { if (e.pointerType === "touch") return; from = [e.clientY, e.clientX, get()]; handle.setPointerCapture(e.pointerId); e.preventDefault(); });
      handle.addEventListener("pointermove", (e) => {
        if (!from) return;
        const moved = (from[0] - e.clientY + (e.clientX - from[1]) * 0.5) / 60;
        this.change(() => set(Math.max(-2, Math.min(2, Math.round((from[2] + moved) * 100) / 100))));
      });
      for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => { from = null; });
    }

    take(key) {
      this.stop();
      const { x, w, held, f, gamma = 0.1, set = false, say } = TRIES[key];
      Object.assign(this.state, { x: [...x], w: [...w], held: [...held], f, gamma, set });
      this.say.textContent = say;
      this.energies = [];
      this.draw();
    }

    /* A reader moved something: the curve starts anew from here. */
    change(edit) {
      edit();
      if (!this.timer) this.energies = [];
      this.draw();
    }

    problem() {
      const { x, w, held, f, set } = this.state, fixed = Uint8Array.from(held);
      return new Problem(ring(w, f), x, fixed, set ? fixed : null);
    }

    step() {
      const p = this.problem();
      if (!this.energies.length) this.energies = [p.energy()];
      p.differentiate();
      this.state.x = this.state.x.map((x, i) => x - this.state.gamma * p.gradient[i]);
      const energy = this.problem().energy(), before = this.energies[this.energies.length - 1];
      this.energies.push(energy);
      this.draw();
      return Number.isFinite(energy) && energy < 1e4 && Math.abs(before - energy) > 1e-7;
    }

    learn() {
      const p = this.problem(), { f } = p.graph.f;
      this.state.w = this.state.w.map((w, k) => { const [j, i] = EDGES[k]; return w + this.state.alpha * p.error[i] * f(this.state.x[j]); });
      if (!this.energies.length) this.energies = [p.energy()];
      this.energies.push(this.problem().energy());
      this.draw();
    }

    start() {
      if (this.energies.length > 1) this.energies = [];
      if (window.PCLive.quiet()) {
        for (let t = 0; t < 300 && this.step(); t++);
        this.ended();
        return;
      }
      this.run.textContent = "Stop";
      this.timer = setInterval(() => { if (!this.step() || this.energies.length > 300) this.ended(); }, 40);
    }

    ended() {
      this.stop();
      const first = this.energies[0], last = this.energies[this.energies.length - 1];
      this.say.textContent = last < 2 * first + 1e-6 ?
        `Settled: the energy went from ${number(first, 3)} to ${number(last, 3)} in ${this.energies.length - 1} steps.` :
        "The energy rises: the step size γ is too large for these weights. Take a smaller one, then choose a start again.";
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.run.textContent = "Run";
    }

    draw() {
      const { x, w, held, gamma } = this.state, p = this.problem();
      p.differentiate();
      x.forEach((value, i) => {
        this.values[i].set(value);
        this.clamps[i].checked = !!held[i];
        const { circle, value: text, error } = this.vertices[i];
        text.textContent = short(value);
        error.textContent = this.cut(i) ? "set" : `ε${SUB[i]} = ${short(p.error[i])}`;
        circle.setAttribute("class", held[i] ? "pc-fixed" : "");
        circle.style.strokeWidth = 1.5 + Math.min(6, 2 * Math.abs(p.error[i]));
      });
      w.forEach((value, k) => {
        this.weights[k].set(value);
        this.edges[k].text.textContent = number(value);
        this.edges[k].path.style.strokeWidth = 1 + Math.abs(value);
        this.edges[k].path.classList.toggle("pc-cut", this.cut(EDGES[k][1]));
      });
      this.gamma.set(gamma);
      this.f.set(this.state.f);
      this.how.set(this.state.set ? "set" : "seen");
      const seen = this.energies.length ? this.energies : [p.energy()];
      this.chart.show(seen, seen.length - 1, Math.max(40, seen.length - 1));
      this.equations.replaceChildren(...this.lines(p));
    }

    /* Whether a vertex is set by intervention: nothing runs along the edge into it. */
    cut(i) { return this.state.set && !!this.state.held[i]; }

    lines(p) {
      const { x, w, held, gamma, alpha, f } = this.state, name = f === "linear" ? "" : f;
      const slope = p.graph.f.slope, rows = [];
      const line = (left, how, value) => h("div", {}, h("span", {}, left), h("span", {}, `= ${how}`), h("b", {}, `= ${number(value, 3)}`));
      const paren = (v) => (v < 0 ? `(${number(v)})` : number(v));
      EDGES.forEach(([j, i], k) => {                                       // vertex i has one edge in, from j, and one out
        const out = EDGES.findIndex(([from]) => from === i), to = EDGES[out][1];
        const mu = w[k] * p.graph.f.f(x[j]);
        rows.push(line(`μ${SUB[i]}`, `θ${SUB[j]}${SUB[i]} f(x${SUB[j]}) = ${number(w[k])} · ${name}${name ? `(${number(x[j])})` : paren(x[j])}`, mu));
        rows.push(line(`ε${SUB[i]}`, this.cut(i) ? "set, pays for no error" : `x${SUB[i]} − μ${SUB[i]} = ${number(x[i])} − ${paren(mu)}`, p.error[i]));
        rows.push(line(`Δx${SUB[i]}`, held[i] ? "held" :
          `γ (−ε${SUB[i]} + f′(x${SUB[i]}) ε${SUB[to]} θ${SUB[i]}${SUB[to]}) = ${number(gamma)} · (${number(-p.error[i])} + ${number(slope(x[i]))} · ${paren(p.error[to])} · ${paren(w[out])})`,
          held[i] ? 0 : -gamma * p.gradient[i]));
        rows.push(line(`Δθ${SUB[j]}${SUB[i]}`, `α ε${SUB[i]} f(x${SUB[j]}) = ${number(alpha)} · ${paren(p.error[i])} · ${paren(p.graph.f.f(x[j]))}`,
                       alpha * p.error[i] * p.graph.f.f(x[j])));
      });
      const order = [8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7];                // vertex 1 first
      return [...order.map((k) => rows[k]),
              line("E", `½ (${[...p.error].map((e) => `${paren(e)}²`).join(" + ")})`, p.energy())];
    }
  }

  window.PCLive.parts.ring = (body) => { window.PCLive.shown = window.PCLive.shown || {}; window.PCLive.shown.ring = new Ring(body); };
})();
