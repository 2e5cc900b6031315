/* A picture of 28 by 28 pixels to look at, and one to draw on: with mouse, finger or keys. */
(function () {
  "use strict";
  const PCLive = window.PCLive, { h } = PCLive;
  const SIDE = 28, ZOOM = 10;

  /* Ink is dark on light; the style sheet inverts the canvas in the dark theme. Unknown pixels are tinted. */
  function paint(canvas, values, known) {
    const small = new ImageData(SIDE, SIDE);
    for (let i = 0; i < SIDE * SIDE; i++) {
      const ink = 255 - Math.round(255 * Math.max(0, Math.min(1, values[i])));
      const hidden = known && !known[i], check = ((i % SIDE) + Math.floor(i / SIDE)) % 2;
      small.data.set(hidden ? (check ? [240, 200, 130, 255] : [250, 220, 165, 255]) : [ink, ink, ink, 255], 4 * i);
    }
    const context = canvas.getContext("2d");
    if (canvas.width === SIDE) { context.putImageData(small, 0, 0); return; }
    const sheet = Object.assign(document.createElement("canvas"), { width: SIDE, height: SIDE });
    sheet.getContext("2d").putImageData(small, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(sheet, 0, 0, canvas.width, canvas.height);
  }

  class Picture {
    constructor(label, small = false) {
      const width = small ? SIDE : SIDE * ZOOM;
      this.canvas = h("canvas", { class: "pc-picture", width, height: width, role: "img", "aria-label": label });
    }

    show(values, known, label) {
      paint(this.canvas, values, known);
      if (label) this.canvas.setAttribute("aria-label", label);
    }

    /* Red over what is shown, from 0 (none) to 1 a pixel. */
    tint(shares, label) {
      const context = this.canvas.getContext("2d"), unit = this.canvas.width / SIDE;
      shares.forEach((share, i) => {
        context.fillStyle = `rgba(209, 73, 91, ${0.8 * share})`;
        context.fillRect((i % SIDE) * unit, Math.floor(i / SIDE) * unit, unit, unit);
      });
      this.canvas.setAttribute("aria-label", label);
    }
  }

  /* Tools: "draw" adds ink, "rub" takes it away, "hide" makes pixels unknown. */
  class Editor extends Picture {
    constructor(onchange) {
      super("The image you ask about, 28 by 28 pixels. Arrow keys move the pen, space uses it.");
      this.values = new Float64Array(SIDE * SIDE);
      this.known = new Uint8Array(SIDE * SIDE).fill(1);
      this.tool = "hide";
      this.onchange = onchange;
      this.cursor = null;
      this.canvas.classList.add("pc-editor");
      this.canvas.tabIndex = 0;
      this.canvas.setAttribute("role", "application");
      this.listen();
    }

    listen() {
      const { canvas } = this;
      let last = null;
      const at = (e) => { const box = canvas.getBoundingClientRect();
                          return [((e.clientX - box.left) / box.width) * SIDE, ((e.clientY - box.top) / box.height) * SIDE]; };
      canvas.addEventListener("pointerdown", (e) => { if (e.pointerType === "touch" && !this.armed) return; canvas.setPointerCapture(e.pointerId); last = at(e); this.use(...last); e.preventDefault(); canvas.focus({ preventScroll: true }); });
      canvas.addEventListener("pointermove", (e) => {
        if (!last) return;
        const next = at(e), steps = Math.ceil(Math.hypot(next[0] - last[0], next[1] - last[1]));
        for (let k = 1; k <= steps; k++) this.use(last[0] + ((next[0] - last[0]) * k) / steps, last[1] + ((next[1] - last[1]) * k) / steps);
        last = next;
      });
      for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { last = null; });
      canvas.addEventListener("keydown", (e) => this.key(e));
      canvas.addEventListener("blur", () => { this.cursor = null; this.refresh(); });
    }

    /* Whether a finger draws; else it scrolls the page. */
    arm(armed) {
      this.armed = armed;
      this.canvas.classList.toggle("pc-armed", armed);
    }

    key(e) {
      const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }, move = moves[e.key];
      if (!move && e.key !== " ") return;
      e.preventDefault();
      this.cursor = this.cursor || [14, 14];
      if (move) this.cursor = this.cursor.map((c, k) => Math.max(0, Math.min(SIDE - 1, c + move[k])));
      else this.use(this.cursor[0] + 0.5, this.cursor[1] + 0.5);
      this.refresh();
    }

    use(x, y) {
      const reach = this.tool === "draw" ? 1.3 : 2;
      for (let row = Math.max(0, Math.floor(y - reach)); row <= Math.min(SIDE - 1, y + reach); row++)
        for (let column = Math.max(0, Math.floor(x - reach)); column <= Math.min(SIDE - 1, x + reach); column++) {
          const far = Math.hypot(column + 0.5 - x, row + 0.5 - y), i = row * SIDE + column;
          if (far > reach) continue;
          if (this.tool === "hide") this.known[i] = 0;
          else if (this.tool === "rub") { this.values[i] = 0; this.known[i] = 1; }
          else { this.values[i] = Math.max(this.values[i], Math.min(1, 1.5 - far)); this.known[i] = 1; }
        }
      this.refresh();
      this.onchange();
    }

    set(values, known) {
      this.values = Float64Array.from(values);
      this.known = Uint8Array.from(known || new Uint8Array(SIDE * SIDE).fill(1));
      this.refresh();
    }

    refresh() {
      this.show(this.values, this.known);
      if (!this.cursor) return;
      const context = this.canvas.getContext("2d"), unit = this.canvas.width / SIDE;
      context.strokeStyle = "#d1495b";
      context.lineWidth = 2;
      context.strokeRect(this.cursor[0] * unit, this.cursor[1] * unit, unit, unit);
    }
  }

  Object.assign(PCLive, { Picture, Editor, SIDE });
})();
