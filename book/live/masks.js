/* Topologies to pick: mask, circuit and how many edges there are. */
(function () {
  "use strict";
  const PCLive = window.PCLive;
  const { h, s, choice } = PCLive;
  const WORDS = (count) => count.toLocaleString("en"), FIRST = "Generative";

  /* Where each group stands in the circuit: a chain from left to right where there is one, else a triangle. */
  function places({ groups, pairs, title }) {
    const names = Object.keys(groups), chain = /Fully|Small/.test(title) ? [] : order(names, pairs);
    const row = (k) => (chain.length > 4 ? [50, 140][k % 2] : 95);         // a long chain in two rows, so that no box covers an arrow
    if (chain.length) return Object.fromEntries(chain.map((name, k) => [name, [55 + (k * 290) / Math.max(1, chain.length - 1), row(k)]]));
    return Object.fromEntries(names.map((name, k) => [name, [[200, 40], [80, 145], [320, 145]][k]]));
  }

  function order(names, pairs) {
    const left = [...names], out = [];
    while (left.length) {
      const next = left.findIndex((name) => !pairs.some((p) => p.to === name && p.from !== name && left.includes(p.from)));
      out.push(left.splice(Math.max(0, next), 1)[0]);
    }
    return out;
  }

  function circuit(topology) {
    const where = places(topology), joined = new Set(topology.pairs.map((p) => `${p.from} ${p.to}`));
    const svg = s("svg", { viewBox: "0 0 400 190", class: "pc-circuit", role: "img" },
      s("title", {}, `Circuit: ${topology.pairs.map((p) => `${p.from} to ${p.to}, ${p.edges} edges`).join("; ")}`),
      s("defs", {}, s("marker", { id: "pc-tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
                      s("path", { d: "M0 0L8 4L0 8z", class: "pc-head-of-arrow" }))));
    for (const { from, to } of topology.pairs) {
      const [ax, ay] = where[from], [bx, by] = where[to];
      if (from === to) {
        const up = ay > 120 ? 1 : -1;
        svg.append(s("path", { class: "pc-edge", d: `M${ax - 9} ${ay + 20 * up}C${ax - 30} ${ay + 52 * up} ${ax + 30} ${ay + 52 * up} ${ax + 9} ${ay + 21 * up}`, "marker-end": "url(#pc-tip)" }));
        continue;
      }
      const long = Math.hypot(bx - ax, by - ay), ux = (bx - ax) / long, uy = (by - ay) / long, off = joined.has(`${to} ${from}`) ? 6 : 0;
      const clear = Math.min(46 / Math.abs(ux || 1e-9), 20 / Math.abs(uy || 1e-9));
      const skips = Object.entries(where).some(([name, [x, y]]) => ![from, to].includes(name) && y === ay && y === by && (x - ax) * (x - bx) < 0);
      const line = skips ? `M${ax} ${ay + 18}Q${(ax + bx) / 2} ${ay + 85} ${bx} ${by + 19}` :
        `M${ax + ux * clear - uy * off} ${ay + uy * clear + ux * off}L${bx - ux * clear - uy * off} ${by - uy * clear + ux * off}`;
      svg.append(s("path", { class: "pc-edge", d: line, "marker-end": "url(#pc-tip)" }));
    }
    for (const [name, [x, y]] of Object.entries(where))
      svg.append(s("g", { class: "pc-group" }, s("rect", { x: x - 40, y: y - 17, width: 80, height: 34, rx: 8 }),
                   s("text", { x, y: y - 1, "text-anchor": "middle" }, name), s("text", { x, y: y + 12, "text-anchor": "middle", class: "pc-tiny" }, `${topology.groups[name]}`)));
    return svg;
  }

  /* Rows are sources, columns targets, a dark square an edge. */
  function mask(topology) {
    const { n, edges, title } = topology, bits = PCLive.bytes(topology.mask);
    const canvas = h("canvas", { class: "pc-picture pc-mask", width: n, height: n, role: "img",
                                 "aria-label": `Mask of the ${title} graph: ${WORDS(edges)} of ${WORDS(n * n)} entries are edges` });
    const image = new ImageData(n, n);
    for (let k = 0; k < n * n; k++) image.data.set((bits[k >> 3] >> (7 - (k & 7))) & 1 ? [31, 95, 160, 255] : [243, 243, 243, 255], 4 * k);
    let at = 0;
    for (const size of Object.values(topology.groups)) {
      at += size;
      if (at < n) for (let k = 0; k < n; k++) for (const cell of [at * n + k, k * n + at])
        if (image.data[4 * cell] > 200) image.data.set([205, 205, 205, 255], 4 * cell);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  PCLive.parts.masks = async (body) => {
    const topologies = await PCLive.need("masks");
    const left = h("div", { class: "pc-column" }), right = h("div", { class: "pc-column pc-two" }), say = h("p", { class: "pc-say", "aria-live": "polite" });
    const show = (title) => {
      const t = topologies.find((one) => one.title === title);
      say.textContent = t.words;
      left.replaceChildren(h("p", { class: "pc-head" }, "Mask: row predicts column"), mask(t));
      right.replaceChildren(h("p", { class: "pc-head" }, "Circuit"), circuit(t),
        h("p", {}, h("b", {}, `${WORDS(t.edges)} edges`), ` of ${WORDS(t.n * t.n)} that ${t.n} vertices could have: ${((100 * t.edges) / (t.n * t.n)).toFixed(0)}\u00a0%.`),
        h("p", {}, `At full size: ${WORDS(t.full.vertices)} vertices, ${WORDS(t.full.edges)} edges.`),
        h("p", { class: "pc-code" }, h("code", {}, `pcg.topology.${t.call[0]}(${Object.entries(t.call[1]).map(([k, v]) => `${k}=${JSON.stringify(v)}`).join(", ")})`)));
    };
    const pick = choice({ legend: "Topology", options: Object.fromEntries(topologies.map((t) => [t.title, t.title])), value: FIRST, onchange: show });
    body.append(pick.row, say, h("div", { class: "pc-columns" }, left, right));
    show(FIRST);
  };
})();
