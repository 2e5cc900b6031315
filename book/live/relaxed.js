/* The question of page I: which relaxed time T gamma suits a task? One chart of the runs, and what another time costs. */
(function () {
  "use strict";
  const PCLive = window.PCLive;
  const { h, s, number, slider, select } = PCLive;
  const WIDTH = 420, LEFT = 50, RIGHT = 410, TOP = 12, BOTTOM = 150;
  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

  /* The settings of a task, from short to long; runs that differ only in the seed are one setting. */
  function settings({ points }) {
    const found = {};
    for (const p of points) (found[`${p.T} ${p.gamma} ${p.decay}`] ||= []).push(p);
    return Object.values(found).map((runs) => ({ runs, time: mean(runs.map((p) => p.relaxed)), score: mean(runs.map((p) => p.score)) }))
      .sort((a, b) => a.time - b.time);
  }

  class Asked {
    constructor(panels) {
      this.panels = panels;
      this.say = h("p", { class: "pc-say", "aria-live": "polite" });
      this.task = select({ label: "Task", value: "0", onchange: (k) => this.take(+k),
                           options: Object.fromEntries(panels.map(({ task }, k) => [k, task.replace(": ", ", ")])) });
      this.move = slider({ label: "Relaxed time Tγ", min: 0, max: 1, step: 1, value: 0, oninput: (k) => this.show(k),
                           show: (k) => (this.known ? number(this.known[k].time) : "") });
      this.svg = s("svg", { viewBox: `0 -12 ${WIDTH} 202`, role: "img", class: "pc-chart" });
    }

    /* Draw the runs of a task and show its best setting. */
    take(k) {
      const panel = this.panels[k], scores = panel.points.map((p) => p.score), low = Math.min(...scores), high = Math.max(...scores);
      const times = panel.points.map((p) => Math.log(p.relaxed)), first = Math.min(...times), long = Math.max(...times) - first;
      const x = (v) => LEFT + 12 + ((Math.log(v) - first) / long) * (RIGHT - LEFT - 24), y = (v) => BOTTOM - 10 - ((v - low) / (high - low)) * (BOTTOM - TOP - 20);
      this.known = settings(panel);
      this.digits = high < 1 ? 4 : 1;
      this.unit = (/ \([^)]+\)$/.exec(panel.task) || [""])[0].replace(/[()]/g, "");
      const score = (one) => (panel.more ? one.score : -one.score);
      this.best = this.known.reduce((best, one) => (score(one) > score(best) ? one : best));
      for (const p of panel.points) p.dot = p.decay ? s("rect", { x: x(p.relaxed) - 4, y: y(p.score) - 4, width: 8, height: 8 }) : s("circle", { cx: x(p.relaxed), cy: y(p.score), r: 4.5 });
      this.words = s("title", {});
      this.svg.replaceChildren(this.words, s("path", { class: "pc-axis", d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}` }),
        ...[low, high].map((v) => s("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, number(v, this.digits))),
        ...[0.1, 1, 10].filter((v) => x(v) <= RIGHT).map((v) => s("text", { x: x(v), y: BOTTOM + 16, "text-anchor": "middle" }, `${v}`)),
        s("text", { x: 6, y: 0 }, panel.task.split(/: |, /).pop()),
        s("text", { x: RIGHT, y: BOTTOM + 34, "text-anchor": "end" }, `Tγ (circles: no weight decay, squares: some); ${panel.more ? "higher" : "lower"} is better`),
        ...panel.points.map((p) => p.dot));
      this.move.input.max = this.known.length - 1;
      this.move.set(this.known.indexOf(this.best));
      this.show(this.move.value);
    }

    /* Fill the dots of a setting and say how it does. */
    show(k) {
      const one = this.known[k], { T, gamma, decay } = one.runs[0], lost = Math.abs(one.score - this.best.score);
      for (const { runs } of this.known) for (const p of runs) p.dot.setAttribute("class", runs === one.runs ? "pc-point pc-near" : "pc-point");
      const setting = `T = ${T}, γ = ${gamma} and ${decay ? `weight decay ${decay}` : "no weight decay"}`, says = `score ${number(one.score, this.digits)}${this.unit}${one.runs.length > 1 ? `, the mean of ${one.runs.length} runs` : ""} (filled dot${one.runs.length > 1 ? "s" : ""})`;
      this.say.textContent = one === this.best ? `Best of those tried: ${setting}; ${says}. Move the slider to see what another time costs.`
        : `${setting}: ${says}, ${number(lost, this.digits)}${this.unit.replace("%", "points")} worse than the best.`;
      this.words.textContent = this.say.textContent;
    }
  }

  PCLive.parts.relaxed = async (body) => {
    const asked = new Asked((await PCLive.need("relaxed-time")).panels);
    asked.take(0);
    body.append(h("div", { class: "pc-wide" }, asked.task.row), asked.say, asked.svg, h("div", { class: "pc-wide" }, asked.move.row));
    PCLive.shown = { ...PCLive.shown, relaxed: asked };
  };
})();
