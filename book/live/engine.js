/* Predictive coding on a graph in the page: section 2 of the paper, in float64, one example at a time.
 *
 * The same equations and the same three ways down as pcgraph_lite/engine (inference.py, solvers.py, curvature.py);
 * tests/browser holds the two against each other. No network, no modules: it works from file://.
 */
(function () {
  "use strict";
  const PCLive = (window.PCLive = window.PCLive || { data: {} });

  /* f and f' of eq. 1. `kinks`: where f' jumps, and the side on which it is 1. At a kink the slope is 1. */
  PCLive.functions = {
    linear: { f: (x) => x, slope: () => 1, kinks: [] },
    tanh: { f: Math.tanh, slope: (x) => 1 - Math.tanh(x) ** 2, kinks: [] },
    hardtanh: { f: (x) => Math.max(-1, Math.min(1, x)), slope: (x) => (x >= -1 && x <= 1 ? 1 : 0),
                kinks: [[-1, 1], [1, -1]] },
    relu: { f: (x) => Math.max(0, x), slope: (x) => (x >= 0 ? 1 : 0), kinks: [[0, 1]] },
    sigmoid: { f: (x) => 1 / (1 + Math.exp(-x)), slope: (x) => { const s = 1 / (1 + Math.exp(-x)); return s * (1 - s); },
               kinks: [] },
  };

  const EPS = 2 ** -52, WINDOW = 10;
  const GROWTH = 1.2, STRIDE = 1.05, REACH = 4, MOMENTUM = 0.95;          // as in solvers.py

  function bytes(base64) {
    const text = atob(base64), out = new Uint8Array(text.length);
    for (let i = 0; i < out.length; i++) out[i] = text.charCodeAt(i);
    return out;
  }

  /* Weights of a block as float32, rows are sources: int8 with a float32 scale a row. */
  function weights(block) {
    const out = new Float32Array(block.rows * block.cols);
    const whole = new Int8Array(bytes(block.data).buffer), scale = new Float32Array(bytes(block.scale).buffer);
    for (let j = 0, k = 0; j < block.rows; j++)
      for (let i = 0; i < block.cols; i++, k++) out[k] = whole[k] * scale[j];
    return out;
  }

  /* A graph: `groups` name -> [start, stop], blocks of weights between runs of vertices. Sources pay x - 0 (eq. 2). */
  class Graph {
    constructor(spec) {
      this.name = spec.name;
      this.n = spec.n;
      this.groups = spec.groups;
      this.f = PCLive.functions[spec.activation];
      this.activation = spec.activation;
      this.offset = spec.scale ? spec.scale.offset : 0;                    // scaled pixels: (pixels - offset) / unit
      this.unit = spec.scale ? spec.scale.unit : 1;
      this.blocks = spec.blocks.map((b) => ({ from: b.from, to: b.to, rows: b.rows, cols: b.cols,
                                              w: b.w || weights(b) }));
      this.sends = new Uint8Array(this.n);                                 // f bends nothing where no edge leaves
      for (const { from, rows } of this.blocks) this.sends.fill(1, from, from + rows);
    }

    size(group) { return this.groups[group][1] - this.groups[group][0]; }
  }

  /* One relaxation: values, which of them are held, and everything that a step needs. `silent`: who pays for no error,
   * as a vertex does that is set by intervention; null: none. */
  class Problem {
    constructor(graph, x, held, silent = null) {
      const n = graph.n;
      this.graph = graph;
      this.silent = silent;
      this.x = Float64Array.from(x);
      this.held = held;
      this.fx = new Float64Array(n);
      this.error = new Float64Array(n);
      this.gradient = new Float64Array(n);
      this.constant = new Float64Array(n);                                 // what held vertices predict: never changes
      const f = graph.f.f;
      for (let j = 0; j < n; j++) this.fx[j] = held[j] ? f(this.x[j]) : 0;
      this.predict(this.constant, this.fx, (j) => held[j]);
      this.evaluate();
    }

    /* mu += f(x) W over the rows that `takes` lets through (eq. 1). */
    predict(mu, fx, takes) {
      for (const { from, to, rows, cols, w } of this.graph.blocks)
        for (let j = 0; j < rows; j++) {
          const value = fx[from + j];
          if (value === 0 || !takes(from + j)) continue;
          for (let i = 0, k = j * cols, t = to; i < cols; i++, k++, t++) mu[t] += value * w[k];
        }
    }

    /* Errors eps = x - mu (eq. 2) at the values of the moment. */
    evaluate() {
      const { x, fx, error, held, graph, constant } = this, f = graph.f.f;
      for (let j = 0; j < graph.n; j++) if (!held[j]) fx[j] = f(x[j]);
      error.set(constant);                                                 // mu first
      this.predict(error, fx, (j) => !held[j]);
      for (let i = 0; i < graph.n; i++) error[i] = this.silent && this.silent[i] ? 0 : x[i] - error[i];
    }

    energy() {
      let sum = 0;
      for (const e of this.error) sum += e * e;
      return sum / 2;
    }

    /* dE/dx of the free vertices (eq. 3), in `gradient`. */
    differentiate() {
      const { x, error, gradient, held, graph } = this, slope = graph.f.slope;
      gradient.fill(0);
      this.feedback(gradient, error);
      for (let j = 0; j < graph.n; j++) gradient[j] = held[j] ? 0 : error[j] - slope(x[j]) * gradient[j];
    }

    /* out_j += sum_k theta_{j,k} e_k for the free j. */
    feedback(out, error) {
      for (const { from, to, rows, cols, w } of this.graph.blocks)
        for (let j = 0; j < rows; j++) {
          if (this.held[from + j]) continue;
          let a = 0, b = 0, k = j * cols, t = to;
          const even = k + cols - (cols % 2), end = k + cols;
          for (; k < even; k += 2, t += 2) { a += w[k] * error[t]; b += w[k + 1] * error[t + 1]; }
          if (k < end) a += w[k] * error[t];
          out[from + j] += a + b;
        }
    }

    /* Largest eigenvalue of the Hessian over the free vertices for f = identity, by power iteration. */
    curvature(steps = 30) {
      const n = this.graph.n, v = new Float64Array(n), e = new Float64Array(n), back = new Float64Array(n);
      const random = PCLive.random(1), free = (j) => !this.held[j];
      let norm = 1;
      for (let j = 0; j < n; j++) v[j] = this.held[j] ? 0 : random.normal();
      for (let step = 0; step < steps; step++) {
        e.fill(0);
        this.predict(e, v, free);
        for (let i = 0; i < n; i++) e[i] = v[i] - e[i];
        back.fill(0);
        this.feedback(back, e);
        norm = 0;
        for (let j = 0; j < n; j++) { v[j] = this.held[j] ? 0 : e[j] - back[j]; norm += v[j] * v[j]; }
        norm = Math.sqrt(norm);
        if (norm === 0) return 0;
        for (let j = 0; j < n; j++) v[j] /= norm;
      }
      return norm;
    }
  }

  /* The ways down. "plain": eq. 3 with the gamma given; "guarded": the same, halved where the energy would rise;
   * "accelerated": momentum with restart, stopping at the kinks of f. gamma null: 1 / curvature. */
  class Relaxation {
    constructor(graph, x, held, { solver = "plain", gamma = null } = {}) {
      this.problem = new Problem(graph, x, held);
      this.solver = solver;
      this.safe = gamma === null;
      const curvature = this.safe ? this.problem.curvature() : 0;
      this.first = this.safe ? (curvature > 0 ? 1 / curvature : 1) : gamma;
      this.gamma = this.first;
      this.largest = this.first * (solver === "accelerated" ? REACH : 1);
      this.velocity = solver === "accelerated" ? new Float64Array(graph.n) : null;
      this.plainly = true;                                                 // whether the last step had no momentum
      this.energies = [this.problem.energy()];
      this.diverged = false;
    }

    get x() { return this.problem.x; }
    get steps() { return this.energies.length - 1; }
    get energy() { return this.energies[this.energies.length - 1]; }

    /* One value step. Returns false once the energy has left the finite numbers or keeps rising. */
    step() {
      const p = this.problem;
      if (this.diverged) return false;
      p.differentiate();
      if (this.solver === "plain") {
        for (let j = 0; j < p.x.length; j++) p.x[j] -= this.gamma * p.gradient[j];
        p.evaluate();
        this.energies.push(p.energy());
        this.diverged = this._rises();
        return !this.diverged;
      }
      const before = Float64Array.from(p.x), errors = Float64Array.from(p.error), fx = Float64Array.from(p.fx);
      if (this.velocity) this._accelerate(); else
        for (let j = 0; j < p.x.length; j++) p.x[j] -= this.gamma * p.gradient[j];
      p.evaluate();
      this._accept(before, errors, fx);
      return true;
    }

    _accelerate() {
      const { x, gradient, held, error, graph } = this.problem, { velocity, gamma } = this;
      for (let j = 0; j < x.length; j++) {
        if (held[j]) continue;
        let g = gradient[j];
        const kinks = graph.sends[j] ? graph.f.kinks : [];
        for (const [kink, side] of kinks)
          if (x[j] === kink) {                                             // the side that goes down, if one does
            const left = side > 0 ? error[j] : g, right = side > 0 ? g : error[j];
            g = left > Math.max(-right, 0) ? left : Math.min(right, 0);
          }
        velocity[j] = velocity[j] * MOMENTUM + g;
        let moved = x[j] - velocity[j] * gamma;
        for (const [kink] of kinks)
          if ((x[j] - kink) * (moved - kink) < 0) { moved = kink; velocity[j] = 0; }
        x[j] = moved;
      }
    }

    /* Take a step back that raised the energy, and shorten the next. */
    _accept(before, errors, fx) {
      const p = this.problem, last = this.energy, energy = p.energy();
      const rose = !(energy <= last + 4 * EPS * Math.abs(last));
      const growth = this.velocity ? STRIDE : GROWTH;
      if (!rose) this.gamma = Math.min(this.gamma * growth, this.largest);
      else if (!this.velocity || this.plainly) this.gamma /= 2;
      this.plainly = rose;
      if (rose) {
        p.x.set(before); p.error.set(errors); p.fx.set(fx);
        if (this.velocity) this.velocity.fill(0);
      }
      this.energies.push(rose ? last : energy);
    }

    _rises() {
      const recent = this.energies.slice(-WINDOW - 1), last = recent[recent.length - 1], low = Math.min(...recent);
      if (!Number.isFinite(last)) return true;
      let rises = 0;
      for (let i = 1; i < recent.length; i++) rises += recent[i] > recent[i - 1];
      return rises >= 3 && last > 2 * low + 1e-6 * this.energies[0];
    }
  }

  /* Values to start from, and what is held. `pixels`, `labels`: {values, known}; held only where `clamp` says so.
   * Pixels come in the units of [0, 1]; everything that is not given starts at 0 in the units of the graph. */
  function place(graph, given, clamp) {
    const x = new Float64Array(graph.n), held = new Uint8Array(graph.n);
    for (const [group, { values, known }] of Object.entries(given)) {
      const start = graph.groups[group][0], pixels = group === "pixels";
      for (let i = 0; i < values.length; i++)
        if (!known || known[i]) {
          x[start + i] = pixels ? (values[i] - graph.offset) / graph.unit : values[i];
          held[start + i] = clamp[group] ? 1 : 0;
        }
    }
    return { x, held };
  }

  /* The values with all vertices that nothing was said of at their prediction, as a memory is asked from noise. */
  function predicted(graph, x, given) {
    const { error } = new Problem(graph, x, new Uint8Array(graph.n)), told = Object.keys(given).map((group) => graph.groups[group]);
    return x.map((value, i) => (told.some(([start, stop]) => i >= start && i < stop) ? value : value - error[i]));
  }

  /* Values of a group, pixels back in the units of [0, 1] (not cut). */
  function read(graph, x, group) {
    const [start, stop] = graph.groups[group], out = Float64Array.from(x.subarray(start, stop));
    if (group === "pixels") for (let i = 0; i < out.length; i++) out[i] = out[i] * graph.unit + graph.offset;
    return out;
  }

  /* A small seeded generator, so that the noise of a seed is the same on every visit. */
  PCLive.random = function (seed) {
    let state = seed >>> 0;
    const uniform = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
    return { uniform, normal };
  };

  Object.assign(PCLive, { Graph, Problem, Relaxation, place, predicted, read, bytes });
})();
