// The error along the depth: everything up to a value, what its node does itself, and normal rounding.
const AREA = { width: 1200, height: 290, left: 62, right: 14, top: 14, bottom: 30 };

class Plot {
  constructor(place, profile, page) {
    Object.assign(this, { place, profile, page, mode: "error", at: -1 });
    this.figures = profile.figures;
    // Letters keep their size: the drawing is made anew for the width there is.
    new ResizeObserver(() => { if (Math.abs(place.clientWidth - this.drawnFor) > 1) this.render(); }).observe(place);
    this.render();
  }

  series(figure) {
    return this.mode === "error"
      ? { whole: real(figure.error), own: real(figure.own), floor: real(figure.floor) }
      : { whole: capped(figure.ratio), own: capped(figure.own_ratio), floor: null };
  }

  render() {
    this.drawnFor = this.place.clientWidth;
    AREA.width = Math.max(320, this.drawnFor - 22);
    const points = this.figures.map((figure) => this.series(figure));
    const positive = points.flatMap(({ whole: a, own: b, floor: c }) => [a, b, c]).filter((value) => value > 0 && Number.isFinite(value));
    if (this.mode === "ratio") positive.push(this.profile.k, 1);
    const low = Math.floor(Math.log10(Math.min(...positive, Infinity) || 1)), high = Math.ceil(Math.log10(Math.max(...positive, -Infinity) || 1));
    const least = this.mode === "ratio" ? -3 : high - 24;
    const [from, to] = positive.length ? [Math.max(low, least), Math.max(high, low + 1)] : [-1, 0];
    const zero = from - Math.max(0.4, (to - from) * 0.06);
    this.toX = (index) => AREA.left + ((index + 0.5) / this.figures.length) * (AREA.width - AREA.left - AREA.right);
    this.toY = (value) => {
      const power = value === Infinity || Number.isNaN(value) ? to : value > 0 ? Math.max(Math.log10(value), from) : zero;
      return AREA.top + ((to - power) / (to - zero)) * (AREA.height - AREA.top - AREA.bottom);
    };
    const drawing = svg("svg", { viewBox: `0 0 ${AREA.width} ${AREA.height}`, role: "img", "aria-label": this.summary() });
    drawing.append(...this.bands(), ...this.axis(from, to, zero));
    // Where the noise is not known it is drawn as before.
    points.forEach((point, index) => { if (Number.isNaN(point.floor)) point.floor = index ? points[index - 1].floor : 0; });
    if (this.mode === "error") drawing.append(this.area(points.map((point) => point.floor)));
    else drawing.append(this.line([1, 1], "floor", true), this.line([this.profile.k, this.profile.k], "limit", true));
    drawing.append(this.line(points.map((point) => point.whole), "whole"), ...this.dots(points));
    this.cursor = svg("line", { class: "cursor", y1: AREA.top, y2: AREA.height - AREA.bottom, visibility: "hidden" });
    drawing.append(this.cursor);
    this.frame = el("div", { class: "card", tabindex: 0, role: "group", "aria-label": "Error along the depth. Left and right arrow keys move along the values, Enter selects." }, this.legend(), drawing);
    this.tip = el("div", { id: "tip", hidden: true });
    this.place.replaceChildren(this.frame, this.tip, this.note());
    this.drawing = drawing;
    this.listen();
  }

  summary() {
    const highest = this.figures.reduce((a, b) => (real(b.ratio) > real(a.ratio) ? b : a), this.figures[0]);
    return `${plural(this.figures.length, "value")} in the order they are made. Largest: ${highest.value}, ${times(highest.ratio)} times normal rounding (limit ${number(this.profile.k)}).`;
  }

  legend() {
    const key = (tone, words) => el("span", {}, el("i", { class: "swatch", style: `--tone: var(--${tone})` }), words);
    return el("div", { class: "legend" },
      key("accent", "whole error up to here"),
      this.figures.some((figure) => figure.own !== null && figure.own !== undefined) && key("approximate", "the node’s own"),
      this.mode === "error" ? key("floor", "noise floor: normal rounding") : key("floor", "1 × normal rounding"),
      this.mode === "ratio" && key("bad", `limit: ${number(this.profile.k)} ×`));
  }

  note() {
    const { aligned, values, culprit, why, causes } = this.profile;
    const found = culprit ? `The first node that differs by itself makes ${culprit}. ${(causes || []).map((cause) => `Cause: ${cause}.`).join(" ")}` : why ? `${sentence(why)}.` : "";
    const share = values ? `${whole(aligned)} of ${whole(values)} intermediate values are matched in both models.` : "";
    return el("p", { class: "note" }, `${found} ${share} Distances are the largest of each value, from the float64 reference; a multiple (×) is that of the worst element, over its own floor.`);
  }

  bands() {
    const made = [], depth = this.depth(), top = (figure) => outermost(figure, depth);
    let start = 0, odd = false;
    for (let index = 1; index <= this.figures.length; index += 1) {
      if (index < this.figures.length && top(this.figures[index]) === top(this.figures[start])) continue;
      const half = (AREA.width - AREA.left - AREA.right) / this.figures.length / 2;
      const [x, right] = [this.toX(start) - half, this.toX(index - 1) + half];
      const name = top(this.figures[start]);
      if (odd) made.push(svg("rect", { class: "band", x, y: AREA.top, width: right - x, height: AREA.height - AREA.top - AREA.bottom }));
      const last = name.split("/").at(-1);
      if (right - x > 6.4 * last.length + 6 && last) { const label = svg("text", { x: (x + right) / 2, y: AREA.height - 10, "text-anchor": "middle" }); label.textContent = last; made.push(label); }
      odd = !odd;
      start = index;
    }
    return made;
  }

  /** The outermost depth at which scopes differ. */
  depth() { return [1, 2, 3].find((depth) => new Set(this.figures.map((figure) => outermost(figure, depth))).size >= Math.min(5, this.figures.length)) || 1; }

  axis(from, to, zero) {
    const made = [], step = Math.ceil((to - from) / 7);
    const mark = (y, words) => {
      made.push(svg("line", { class: "grid", x1: AREA.left, x2: AREA.width - AREA.right, y1: y, y2: y }));
      const label = svg("text", { x: AREA.left - 8, y: y + 4, "text-anchor": "end" });
      label.textContent = words;
      made.push(label);
    };
    for (let power = to; power >= from; power -= step) mark(this.toY(10 ** power), this.mode === "ratio" ? `${10 ** power >= MOST && this.figures.some((figure) => real(figure.ratio) > MOST) ? "> " : ""}${number(10 ** power)} ×` : power === 0 ? "1" : `1e${power}`);
    mark(this.toY(0), "0");
    return made;
  }

  area(values) {
    const base = AREA.height - AREA.bottom;
    const top = values.map((value, index) => `${this.toX(index).toFixed(1)} ${this.toY(value || 0).toFixed(1)}`);
    return svg("path", { class: "floor", d: `M${this.toX(0).toFixed(1)} ${base}L${top.join("L")}L${this.toX(values.length - 1).toFixed(1)} ${base}Z` });
  }

  line(values, name, across = false) {
    const points = values.map((value, index) => `${(across ? (index ? AREA.width - AREA.right : AREA.left) : this.toX(index)).toFixed(1)} ${this.toY(value ?? 0).toFixed(1)}`);
    return svg("path", { class: name, d: points.length ? `M${points.join("L")}` : "M0 0" });
  }

  dots(points) {
    const made = [], size = this.figures.length > 1500 ? 1.4 : this.figures.length > 300 ? 2 : 3;
    this.figures.forEach((figure, index) => {
      const hot = figure.value === this.profile.culprit || real(figure.own_ratio) > this.profile.k;
      if (points[index].own !== null && points[index].own !== undefined) made.push(svg("circle", { class: hot ? "hot" : "own", cx: this.toX(index).toFixed(1), cy: this.toY(points[index].own).toFixed(1), r: hot ? size + 2 : size }));
      else if (figure.value === this.profile.culprit) made.push(svg("circle", { class: "hot", cx: this.toX(index).toFixed(1), cy: this.toY(points[index].whole).toFixed(1), r: 5 }));
    });
    return made;
  }

  listen() {
    const index = (event) => {
      const box = this.drawing.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * AREA.width;
      const share = (x - AREA.left) / (AREA.width - AREA.left - AREA.right);
      return Math.max(0, Math.min(this.figures.length - 1, Math.floor(share * this.figures.length)));
    };
    this.drawing.addEventListener("pointermove", (event) => this.show(index(event)));
    this.drawing.addEventListener("pointerleave", () => this.hide());
    this.drawing.addEventListener("click", (event) => this.pick(index(event)));
    this.frame.addEventListener("blur", () => this.hide());
    this.frame.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { event.preventDefault(); this.show(Math.max(0, Math.min(this.figures.length - 1, this.at + step))); this.page.say(`${this.figures[this.at].value}: ${times(this.figures[this.at].ratio)} times normal rounding`); }
      if (event.key === "Enter" && this.at >= 0) this.pick(this.at);
    });
  }

  show(at) {
    this.at = at;
    const figure = this.figures[at], x = this.toX(at), box = this.drawing.getBoundingClientRect(), frame = this.place.getBoundingClientRect();
    for (const end of ["x1", "x2"]) this.cursor.setAttribute(end, x);
    this.cursor.setAttribute("visibility", "visible");
    const own = figure.own === null || figure.own === undefined ? null : ["own", `${number(figure.own)} (${times(figure.own_ratio)} ×)`];
    this.tip.replaceChildren(el("b", {}, figure.value), `${figure.op} ${figure.node}`, pairs([["whole", `${number(figure.error)} (${times(figure.ratio)} ×)`], own || ["", null], ["floor", number(figure.floor)]]));
    this.tip.hidden = false;
    const left = box.left - frame.left + (x / AREA.width) * box.width;
    this.tip.style.left = `${Math.min(left + 14, frame.width - this.tip.offsetWidth - 6)}px`;
    if (left + 14 > frame.width - this.tip.offsetWidth - 6) this.tip.style.left = `${left - this.tip.offsetWidth - 14}px`;
    this.tip.style.top = `${box.top - frame.top + 12}px`;
  }

  hide() { this.tip.hidden = true; this.cursor.setAttribute("visibility", "hidden"); }
  pick(at) { const node = this.figures[at].at; if (node) this.page.choose(node, { open: true }); }
}

/** A ratio as it is drawn: nothing above the cap. */
const capped = (value) => (value === null || value === undefined ? value : Math.min(real(value), MOST));
const outermost = (figure, depth) => ((figure.at && figure.at.scope) || "").split("/").slice(0, depth).join("/");
