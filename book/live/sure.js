/* How sure an answer is: how far its missing pixels would spread if answers were drawn with probability ~ exp(-E / tau).
 *
 * Missing pixels send no edges and pay only for themselves, so what spreads are the free senders, and their spread follows
 * from the curvature of the energy at the answer. As `linearised` in pcgraph_lite/studies/uncertainty.py. */
(function () {
  "use strict";
  const PCLive = window.PCLive;

  /* d mu / d x of the free rows of each block, `reach`, with the free vertex of each row, `who`, and column, `whom` (-1: not free). */
  function reaches(problem, order) {
    const { graph, x, held } = problem, [pixels, end] = graph.groups.pixels;
    return graph.blocks.map(({ from, to, rows, cols, w }) => {
      const who = Int32Array.from({ length: rows }, (_, j) => order[from + j]), whom = Int32Array.from({ length: cols }, (_, i) => order[to + i]);
      const missing = Uint8Array.from({ length: cols }, (_, i) => to + i >= pixels && to + i < end && !held[to + i]);
      const reach = Float64Array.from(w, (weight, k) => weight * graph.f.slope(x[from + Math.floor(k / cols)]));
      return { rows, cols, to, who, whom, missing, reach };
    });
  }

  /* Second derivatives of the energy over the free senders, lower half, and the rows of the blocks behind them. */
  function hessian(blocks, m) {
    const H = Array.from({ length: m }, (_, j) => { const row = new Float64Array(j + 1); row[j] = 1; return row; });
    const add = (j, i, value) => { if (j >= i) H[j][i] += value; };
    for (const { rows, cols, who, whom, reach } of blocks)
      for (let j = 0; j < rows; j++)
        for (let i = 0; who[j] >= 0 && i < cols; i++)
          if (whom[i] >= 0) { add(who[j], whom[i], -reach[j * cols + i]); add(whom[i], who[j], -reach[j * cols + i]); }
    for (const a of blocks)
      for (const b of blocks)
        if (a.to === b.to) {
          const paid = b.reach.map((value, k) => (b.missing[k % b.cols] ? 0 : value));
          for (let j = 0; j < a.rows; j++)
            for (let i = 0; a.who[j] >= 0 && i < b.rows; i++)
              if (b.who[i] >= 0 && b.who[i] <= a.who[j]) H[a.who[j]][b.who[i]] += dot(a.reach, j * a.cols, paid, i * b.cols, a.cols);
        }
    return H;
  }

  function dot(a, at, b, bt, count) {
    let one = 0, two = 0;
    const even = count - (count % 2);
    for (let k = 0; k < even; k += 2) { one += a[at + k] * b[bt + k]; two += a[at + k + 1] * b[bt + k + 1]; }
    return one + two + (even < count ? a[at + even] * b[bt + even] : 0);
  }

  /* Cholesky's factor, in place: H = L L'. */
  function factor(H) {
    for (let j = 0; j < H.length; j++)
      for (let i = 0; i <= j; i++) {
        const rest = H[j][i] - dot(H[j], 0, H[i], 0, i);
        H[j][i] = i === j ? Math.sqrt(rest) : rest / H[i][i];
      }
    return H;
  }

  /* The deviation of each missing pixel's prediction at tau = 1; 0 for held pixels. Senders must not be pixels. */
  PCLive.deviation = function (problem) {
    const { graph, held } = problem, [pixels, end] = graph.groups.pixels, order = new Int32Array(graph.n).fill(-1);
    let m = 0;
    for (let j = 0; j < graph.n; j++) if (!held[j] && (j < pixels || j >= end)) order[j] = m++;
    const blocks = reaches(problem, order), L = factor(hessian(blocks, m)), out = new Float64Array(end - pixels), y = new Float64Array(m);
    for (let p = pixels; p < end; p++) {
      if (held[p]) continue;
      let first = m, sum = 0;
      y.fill(0);
      for (const { rows, cols, to, who, reach } of blocks)
        for (let j = 0; p >= to && p < to + cols && j < rows; j++)
          if (who[j] >= 0) { y[who[j]] += reach[j * cols + p - to]; first = Math.min(first, who[j]); }
      for (let j = first; j < m; j++) {                                    // L y = d mu / d x of this pixel
        y[j] = (y[j] - dot(L[j], first, y, first, j - first)) / L[j][j];
        sum += y[j] * y[j];
      }
      out[p - pixels] = Math.sqrt(sum);
    }
    return out;
  };
})();
