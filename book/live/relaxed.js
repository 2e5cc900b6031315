/* The figure of page I to move through: one slider over the relaxed time T gamma, a panel a task. */
(function () {
  "use strict";
  const PCLive = window.PCLive;
  const { h, s, number, slider } = PCLive;
  const WIDTH = 260, HEIGHT = 150, LEFT = 44, RIGHT = 246, TOP = 14, BOTTOM = 118;

  class Panel {
    constructor({ task, points, more }, x) {
      this.points = points;
      this.x = x;
      const scores = points.map((p) => p.score), low = Math.min(...scores), high = Math.max(...scores), room = (high - low || 1) * 0.15;
      this.y = (v) => BOTTOM - ((v - low + room) / (high - low + 2 * room)) * (BOTTOM - TOP);
      this.digits = high < 1 ? 3 : 1;
      this.mark = s("line", { class: "pc-mark", y1: TOP, y2: BOTTOM });
      this.words = s("title", {}, task);
      this.said = h("p", { class: "pc-read" });
      this.svg = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "pc-chart" }, this.words,
        s("path", { class: "pc-axis", d: `M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}` }),
        ...[low, high].slice(0, low === high ? 1 : 2).map((v) => s("text", { x: LEFT - 5, y: this.y(v) + 4, "text-anchor": "end" }, number(v, this.digits))),
        ...[0.1, 1, 10].map((v) => s("text", { x: x(v), y: BOTTOM + 15, "text-anchor": "middle" }, `${v}`)), this.mark,
        ...points.map((p) => { p.dot = s(p.decay ? "rect" : "circle", p.decay ? { x: x(p.relaxed) - 4, y: this.y(p.score) - 4, width: 8, height: 8 } :
          { cx: x(p.relaxed), cy: this.y(p.score), r: 4.5 }); return p.dot; }));
      const better = more ? "higher is better" : "lower is better";
      this.box = h("div", { class: "pc-panel" }, h("p", { class: "pc-head" }, task), h("p", { class: "pc-better" }, `${better}; horizontal axis: Tγ`), this.svg, this.said);
      this.task = task;
    }

    /* Mark the runs measured at the relaxed time nearest to this one. */
    show(time) {
      const far = (p) => Math.abs(Math.log(p.relaxed / time)), near = Math.min(...this.points.map(far));
      const there = this.points.filter((p) => far(p) - near < 1e-9);
      this.mark.setAttribute("x1", this.x(time));
      this.mark.setAttribute("x2", this.x(time));
      for (const p of this.points) p.dot.setAttribute("class", there.includes(p) ? "pc-point pc-near" : "pc-point");
      const said = there.map((p) => `${number(p.score, this.digits)} (T\u00a0=\u00a0${p.T}, γ\u00a0=\u00a0${p.gamma}, ${p.decay ? `decay ${p.decay}` : "no decay"})`);
      this.said.textContent = near < 0.12 ? said.join("; ") : `nearest run, Tγ = ${number(there[0].relaxed)}: ${said.join("; ")}`;
      this.words.textContent = `${this.task}: ${this.said.textContent}`;
    }
  }

  PCLive.parts.relaxed = async (body) => {
    const { panels } = await PCLive.need("relaxed-time");
    const times = [...new Set(panels.flatMap((p) => p.points.map((q) => q.relaxed)))].sort((a, b) => a - b);
    const ends = [times[0], times[times.length - 1]].map(Math.log);
    const x = (v) => LEFT + 8 + ((Math.log(v) - ends[0]) / (ends[1] - ends[0])) * (RIGHT - LEFT - 14);
    const drawn = panels.map((panel) => new Panel(panel, x));
    const show = (k) => drawn.forEach((panel) => panel.show(times[k]));
    const move = slider({ label: "Relaxed time Tγ", min: 0, max: times.length - 1, step: 1, value: 1, show: (k) => number(times[k]), oninput: show });
    body.append(h("p", { class: "pc-say" }, "Move the slider from short to long. Each panel is a task and each mark a training run: circles without weight decay, squares with it."),
                h("div", { class: "pc-wide pc-stays" }, move.row), h("div", { class: "pc-panels" }, drawn.map((panel) => panel.box)));
    show(1);
    PCLive.shown = { ...PCLive.shown, relaxed: { times, drawn } };
  };
})();
