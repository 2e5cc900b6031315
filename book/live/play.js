/* A trained graph, and a memory, to ask: hide, disturb, hold, start, and watch the picture settle. */
(function () {
  "use strict";
  const PCLive = window.PCLive;
  const { h, s, number, slider, choice, select, button, Chart, Picture, Editor, Graph, Relaxation, place, predicted, read, SIDE } = PCLive;
  const PIXELS = SIDE * SIDE, RETRIEVED = 0.001, STOPS = [5, 10, 20, 50, 100, 200, 500, 1000, 2000];
  const GAMMAS = { safe: "safe", 0.005: "0.005", 0.01: "0.01", 0.02: "0.02", 0.05: "0.05", 0.1: "0.1", 0.2: "0.2", 0.5: "0.5" };
  const article = (digit) => `${digit === 8 ? "an" : "a"} ${digit}`;
  const WAYS = { accelerated: "accelerated", guarded: "plain" };

  const half = Uint8Array.from({ length: PIXELS }, (_, i) => (i < PIXELS / 2 ? 1 : 0));
  const all = new Uint8Array(PIXELS).fill(1), none = new Uint8Array(PIXELS);

  /* Each sets the bench up; the reader presses Settle. */
  const GRAPH_TRIES = {
    complete: { title: "Finish half a digit", known: half, query: "clamp", label: "free", digit: 9,
                say: "The lower half is hidden. Press Settle: the graph fills it in and tells you which digit it sees." },
    tell: { title: "Tell it the label", known: half, query: "clamp", label: "true", digit: 0, labels: true,
            say: "The upper half of a 0 could also begin a 6. Now the label is held too. Press Settle, then try another label." },
    draw: { title: "Draw from a label", known: none, query: "clamp", label: "3", labels: true,
            say: "Every pixel is hidden and one label is held. Press Settle: the graph draws that digit. Then choose another label." },
    read: { title: "Read a digit", known: all, query: "clamp", label: "free", digit: 8,
            say: "Every pixel is held and the label is free. Press Settle: the bars show which digit the graph reads. Then draw one of your own." },
    noise: { title: "Remove noise", known: all, query: "init", label: "free", noise: 0.4, digit: 7, steps: 20,
             say: "The pixels start at the noisy image, and nothing is held. Press Settle, then drag the step back and forth. Now try T = 200: the digit fades too." },
  };
  const MEMORY_TRIES = {
    little: { title: "A third is enough", known: Uint8Array.from({ length: PIXELS }, (_, i) => (i < 10 * SIDE ? 1 : 0)), query: "clamp", digit: 3,
              say: "Only the upper third of a stored digit is held. Press Settle. Then hide more: how little is enough?" },
    half: { title: "From half", known: half, query: "clamp", digit: 0,
            say: "The lower half of a stored digit is hidden. Press Settle: the memory fills in this very digit." },
    noise: { title: "From noise", known: all, query: "init", noise: Math.sqrt(0.2) / 2, digit: 2, steps: 2000, scored: "noise",
             say: "The pixels start at a noisy digit, and nothing is held. Press Settle." },
    stranger: { title: "A digit never seen", known: half, query: "clamp", digit: 1, strange: true,
                say: "This half belongs to a digit that the memory never stored. Press Settle: it can only answer with a blend of what it knows." },
  };

  /* Both benches in one: what differs is the gallery, the labels and the last sentence. */
  class Bench {
    constructor({ models, gallery, strangers, tries, memory, rates, brief }) {
      Object.assign(this, { models, gallery, strangers, tries, memory, rates, brief });
      this.graphs = {};
      this.model = models[0].file;
      this.page = 0;
      this.seed = 1;
      this.digit = 0;
      this.strange = false;
      this.frames = [];
      this.energies = [];
      this.frame = null;
    }

    build(body) {
      this.say = h("p", { class: "pc-say", "aria-live": "polite" });
      this.bar = choice({ legend: "Try this", value: Object.keys(this.tries)[0], onchange: (key) => this.take(key),
                          options: Object.fromEntries(Object.entries(this.tries).map(([key, t]) => [key, t.title])) });
      this.editor = new Editor(() => this.touched());
      this.answer = new Picture("No answer yet");
      this.chart = new Chart();
      this.go = button("Settle", () => (this.frame ? this.stop() : this.settle()), { class: "pc-main" });
      this.scrub = slider({ label: "Look at step", min: 0, max: 1, step: 1, value: 0, show: (v) => `${v}`,
                            oninput: (t) => this.look(t) });
      this.bars = this.memory ? null : this.labelBars();
      this.sure = this.memory ? null : button("How sure?", () => this.doubt(), { disabled: true });
      const part = (name, ...children) => h("div", { class: `pc-column pc-${name}` }, ...children), head = (text) => h("p", { class: "pc-head" }, text);
      const change = part("change", head("Edit the image, or pick another"), this.tools(), this.galleryRow()), settings = this.settings();
      if (this.brief) body.classList.add("pc-brief");
      body.append(this.bar.row, this.say, h("div", { class: "pc-bench" },
        part("ask", head("You ask"), this.editor.canvas), part("answers", head("It answers"), this.answer.canvas),
        part("go", h("div", { class: "pc-buttons" }, ...[this.go, this.sure].filter(Boolean)), this.scrub.row),
        part("curves", head("Energy, step by step"), this.chart.svg, ...(this.bars ? [head("Label vertices"), this.bars.svg] : [])),
        this.brief ? null : change), this.brief ? h("details", { class: "pc-more" }, h("summary", {}, "Change the image or the settings"), change, settings) : settings);
      this.take(Object.keys(this.tries)[0]);
    }

    /* A finger scrolls the page until a tool is tapped. */
    tools() {
      this.tool = choice({ legend: "Tool", hidden: true, value: "hide", options: { hide: "Hide", draw: "Draw", rub: "Erase" },
                           onchange: (tool) => { this.editor.tool = tool; } });
      this.tool.row.addEventListener("click", () => this.editor.arm(true));
      const edit = (change) => () => { change(); this.touched(); };
      return h("div", { class: "pc-tools" }, this.tool.row, h("div", { class: "pc-buttons pc-small" },
        button("Hide lower half", edit(() => this.hide((i) => i >= PIXELS / 2))),
        button("Hide right half", edit(() => this.hide((i) => i % SIDE >= SIDE / 2))),
        button("Add noise", edit(() => this.disturb(0.3))),
        button("Blank sheet", edit(() => { this.editor.set(new Float64Array(PIXELS)); this.tool.set("draw"); this.editor.tool = "draw"; this.editor.arm(true); })),
        button("Start over", edit(() => this.editor.set(this.clean())))));
    }

    hide(which) {
      for (let i = 0; i < PIXELS; i++) if (which(i)) this.editor.known[i] = 0;
      this.editor.refresh();
    }

    disturb(sd) {
      const random = PCLive.random(this.seed++);
      this.editor.set(this.editor.values.map((v) => v + sd * random.normal()), this.editor.known);
    }

    galleryRow() {
      this.thumbs = h("div", { class: "pc-thumbs" });
      return h("div", {}, this.thumbs, h("div", { class: "pc-buttons pc-small" },
        button("Show ten others", () => { this.page++; this.fillThumbs(); })));
    }

    source() { return this.strange ? this.strangers : this.gallery; }

    clean(k = this.digit) { return Float64Array.from(this.source().pixels.subarray(PIXELS * k, PIXELS * (k + 1)), (v) => v / 255); }

    fillThumbs() {
      const { labels } = this.source(), pages = Math.floor(labels.length / 10);
      this.thumbs.replaceChildren(...Array.from({ length: 10 }, (_, i) => {
        const k = (this.page % pages) * 10 + i, small = new Picture(`digit ${labels[k]}`, true);
        small.show(this.clean(k));
        small.canvas.setAttribute("aria-hidden", "true");
        return h("button", { type: "button", class: "pc-thumb", "aria-label": `Use this ${labels[k]}`, "aria-pressed": `${k === this.digit}`,
                             onclick: () => this.pick(k) }, small.canvas);
      }));
    }

    pick(k) {
      this.digit = k;
      const known = this.editor.known;
      this.editor.set(this.clean(), known);
      if (this.noise) this.disturb(this.noise);
      if (this.follow && this.label) this.label.set(`${this.source().labels[k]}`);
      this.fillThumbs();
      this.forget();
    }

    labelBars() {
      const svg = s("svg", { viewBox: "0 0 320 120", class: "pc-labels", role: "img" }), words = s("title", {}, "Label vertices: no answer yet");
      const bars = Array.from({ length: 10 }, (_, k) => s("rect", { x: 12 + 30 * k, width: 22, y: 84, height: 0 }));
      const top = s("text", { y: 14, "text-anchor": "middle", class: "pc-now" });
      svg.append(words, top, s("path", { class: "pc-axis", d: "M6 84H314" }), ...bars,
                 ...bars.map((_, k) => s("text", { x: 23 + 30 * k, y: 116, "text-anchor": "middle" }, `${k}`)));
      return { svg, show: (values, held) => {
        const high = Math.max(0.02, ...values.map(Math.abs)), best = values.indexOf(Math.max(...values));
        bars.forEach((bar, k) => {
          const long = (values[k] / high) * 66;
          bar.setAttribute("y", long >= 0 ? 84 - long : 84);
          bar.setAttribute("height", Math.min(18, Math.abs(long)) * (long < 0) + Math.max(0, long));
          bar.setAttribute("class", held ? "pc-fixed" : k === best ? "pc-best" : "");
        });
        top.textContent = values.some(Boolean) ? number(values[best]) : "";
        top.setAttribute("x", 23 + 30 * best);
        words.textContent = held ? `Label vertices: held at ${best}` : `Label vertices: highest at ${best}, ${number(values[best])}`;
      } };
    }

    settings() {
      const changed = () => this.touched();
      this.query = choice({ legend: "Query", options: { clamp: "Conditioning", init: "Initialization" }, value: "clamp", onchange: changed });
      this.label = this.memory ? null : select({ label: "Label", value: "free", onchange: () => { this.follow = false; this.touched(); },
        options: { free: "free", ...Object.fromEntries(Array.from({ length: 10 }, (_, k) => [`${k}`, `held at ${k}`]).map(([k, t]) => [`${k}`, t])) } });
      this.steps = slider({ label: "T, value steps", min: 0, max: STOPS.length - 1, step: 1, value: 5, show: (k) => `${STOPS[k]}`, oninput: changed });
      this.gamma = select({ label: "γ, step size", options: GAMMAS, value: "safe", onchange: changed });
      this.way = select({ label: "Descent", options: WAYS, value: "accelerated", onchange: changed });
      this.which = this.models.length > 1 ? select({ label: "Trained graph", value: this.model,
        options: Object.fromEntries(this.models.map((m) => [m.file, m.description.replace(/^(\w+).*\((section \d+)\)$/, "$2: $1 graph")])), onchange: (file) => { this.model = file; this.touched(); } }) : null;
      return h("div", { class: "pc-settings" }, ...[this.query, this.label, this.steps, this.gamma, this.way, this.which]
        .filter(Boolean).map((part) => part.row));
    }

    /* Set up one experiment. */
    take(key) {
      const t = this.tries[key];
      this.stop();
      this.strange = !!t.strange;
      this.noise = t.noise || 0;
      this.follow = t.label === "true";
      if (t.digit !== undefined) this.digit = t.digit;
      this.page = Math.floor(this.digit / 10);
      this.seed = 1;
      this.editor.set(this.clean(), t.known);
      if (t.noise) this.disturb(t.noise);
      this.query.set(t.query);
      if (this.label) this.label.set(this.follow ? `${this.source().labels[this.digit]}` : t.label);
      const follower = this.models.find((m) => /labels/.test(m.name)), other = this.models.find((m) => !/labels/.test(m.name));
      const best = (t.labels ? follower : other) || this.models[0];
      this.model = best.file;
      if (this.which) this.which.set(this.model);
      this.way.set(t.query === "init" && !/labels/.test(best.name) ? "guarded" : "accelerated");
      this.gamma.set("safe");
      this.steps.set(STOPS.indexOf(t.steps || 200));
      this.tool.set("hide");
      this.editor.tool = "hide";
      this.editor.arm(false);
      this.bar.set(key);
      this.fillThumbs();
      this.changed = false;
      this.forget();
      this.tell(t.say);
    }

    tell(text) { this.say.textContent = text; }

    /* The reader changed the question. */
    touched() {
      this.changed = true;
      this.forget();
    }

    /* The last answer no longer belongs to the question. */
    forget() {
      this.stop();
      this.tell("Press Settle.");
      this.frames = [];
      this.energies = [];
      this.chart.show([], 0, STOPS[this.steps.value]);
      this.answer.show(new Float64Array(PIXELS), none, "No answer yet. Press Settle.");
      if (this.bars) this.bars.show(new Array(10).fill(0), false);
      this.scrub.input.max = 1;
      this.scrub.set(0);
      this.scrub.input.disabled = true;
      if (this.sure) this.sure.disabled = true;
    }

    async graph() {
      if (!this.graphs[this.model]) this.graphs[this.model] = new Graph(await PCLive.need(this.model));
      return this.graphs[this.model];
    }

    /* The query as it stands: what is given, what is held, and how to go down. */
    question() {
      const held = this.query.value === "clamp", given = { pixels: { values: this.editor.values, known: this.editor.known } };
      const clamp = { pixels: held };
      if (this.label && this.label.value !== "free") {
        given.labels = { values: Float64Array.from({ length: 10 }, (_, k) => (k === +this.label.value ? 1 : 0)) };
        clamp.labels = true;
      }
      const gamma = this.gamma.value === "safe" ? null : +this.gamma.value;
      const solver = this.way.value === "guarded" && gamma !== null ? "plain" : this.way.value;
      return { given, clamp, options: { solver, gamma }, steps: STOPS[this.steps.value] };
    }

    /* Until the answer is there. `atOnce`: without the steps in between. */
    async settle(atOnce = PCLive.quiet()) {
      this.forget();
      this.tell("Settling.");
      this.go.textContent = "Stop";
      this.frame = -1;
      const graph = await this.graph(), { given, clamp, options, steps } = this.question();
      const { x: placed, held } = place(graph, given, clamp);
      const x = this.memory && !clamp.pixels ? predicted(graph, placed, given) : placed;
      if (held.every(Boolean)) { this.stop(); this.tell("Everything is held, so there is nothing left to ask. Free the label or hide some pixels."); return; }
      this.labelsHeld = !!clamp.labels;
      this.run = new Relaxation(graph, x, held, options);
      this.record();
      const calm = Math.max(1, Math.round(steps / 60));
      const turn = () => {
        const began = performance.now();
        let more = true;
        for (let k = 0; more && this.run.steps < steps && (atOnce || k < calm) && performance.now() - began < (atOnce ? 100 : 24); k++) {
          more = this.run.step();
          this.record();
        }
        this.look(this.run.steps);
        this.scrub.input.max = Math.max(1, this.run.steps);
        this.scrub.set(this.run.steps);
        if (more && this.run.steps < steps && this.frame !== null) this.frame = requestAnimationFrame(turn);
        else this.ended(steps);
      };
      return new Promise((done) => { this.done = done; this.frame = requestAnimationFrame(turn); });
    }

    record() {
      const { run } = this, graph = run.problem.graph;
      this.frames.push({ pixels: Float32Array.from(read(graph, run.x, "pixels")), labels: graph.groups.labels ? [...read(graph, run.x, "labels")] : null });
      this.energies = run.energies;
    }

    look(t) {
      const frame = this.frames[Math.min(t, this.frames.length - 1)];
      if (!frame) return;
      this.answer.show(frame.pixels, null, `The answer at step ${t}, energy ${number(this.energies[t])}`);
      this.chart.show(this.energies, t, Math.max(this.run.steps, STOPS[this.steps.value]));
      if (this.bars && frame.labels) this.bars.show(frame.labels, this.labelsHeld);
    }

    stop() {
      if (this.frame !== null) cancelAnimationFrame(this.frame);
      this.frame = null;
      this.done?.();
      if (this.go) this.go.textContent = "Settle";
    }

    ended(steps) {
      this.stop();
      this.scrub.input.disabled = false;
      const { run } = this;
      if (run.diverged) {
        const bound = 2 / run.problem.curvature();
        this.tell(`The energy rises: γ = ${run.first} is too large here. In a linear graph the bound would be ${number(bound, 4)}. Choose a smaller γ, or "safe".`);
        return;
      }
      if (this.sure) this.sure.disabled = this.query.value !== "clamp" || this.editor.known.every(Boolean);
      const rate = this.rates[this.tries[this.bar.value].scored];
      this.tell([this.memory ? this.compare() : this.reading(), `It took ${run.steps} steps.`,
                 rate && !this.changed ? `Asked like this, ${rate} of the stored digits come back (page 3c).` : ""].join(" ").trim());
    }

    /* Which hidden pixels could as well be something else. */
    doubt() {
      this.look(this.run.steps);
      this.scrub.set(this.run.steps);
      const spread = PCLive.deviation(this.run.problem), hidden = spread.filter(Boolean).sort(), most = hidden[hidden.length - 1], least = hidden[0];
      this.answer.tint(spread.map((d) => (d ? (d - least) / (most - least || 1) : 0)), "The answer; the redder a hidden pixel, the less sure the graph is of it");
      this.tell(`The redder a hidden pixel, the less sure the graph is of it. Drawn many times, the reddest would vary ${number(most / hidden[hidden.length >> 1], 1)} times as much as a typical one. ` +
        "What counts is which pixels are known, and hardly what they show (page K).");
    }

    reading() {
      const { labels } = this.frames[this.frames.length - 1];
      const [first, second] = labels.map((_, k) => k).sort((a, b) => labels[b] - labels[a]);
      if (this.labelsHeld) return `This is its ${first}, with the label held at ${first}.`;
      return `It reads ${article(first)} (label value ${number(labels[first])}; next best ${second}).`;
    }

    /* Which stored image the answer is nearest to, in mean squared error over the pixels. */
    compare() {
      const pixels = this.frames[this.frames.length - 1].pixels, stored = this.gallery.pixels;
      let best = Infinity, which = 0;
      for (let k = 0; k < this.gallery.labels.length; k++) {
        let sum = 0;
        for (let i = 0; i < PIXELS; i++) { const d = Math.max(0, Math.min(1, pixels[i])) - stored[PIXELS * k + i] / 255; sum += d * d; }
        if (sum < best) { best = sum; which = k; }
      }
      const error = best / PIXELS < 1e-4 ? "below 0.0001" : number(best / PIXELS, 4), name = this.gallery.labels[which];
      if (best / PIXELS >= RETRIEVED) return `No stored digit comes back. The nearest is ${article(name)}, with a mean squared error of ${error}; below ${RETRIEVED} counts as retrieved.`;
      return `It returns ${!this.strange && which === this.digit ? `the stored ${name}` : `a stored ${name}, but another one`} (mean squared error ${error}).`;
    }
  }

  const unpacked = (data) => ({ pixels: PCLive.bytes(data.images), labels: data.labels });

  /* The first experiment has its answer when the reader comes. `facts`: what the page knows. `brief`: the rest folds away;
   * others are shares from the records, by the experiment that was scored. */
  function open(body, key, options, facts) {
    const bench = new Bench({ ...options, rates: facts, brief: "brief" in facts });
    bench.build(body);
    PCLive.shown = PCLive.shown || {};
    PCLive.shown[key] = bench;
    return bench.settle(true);
  }

  PCLive.parts.graph = async (body, facts) => {
    const models = await PCLive.need("models"), gallery = unpacked(await PCLive.need("digits"));
    await open(body, "graph", { models: models.graphs, gallery, tries: GRAPH_TRIES, memory: false }, facts);
  };
  PCLive.parts.memory = async (body, facts) => {
    const models = await PCLive.need("models"), gallery = unpacked(await PCLive.need("memories"));
    await open(body, "memory", { models: [models.memory], gallery, strangers: unpacked(await PCLive.need("digits")), tries: MEMORY_TRIES, memory: true }, facts);
  };
})();
