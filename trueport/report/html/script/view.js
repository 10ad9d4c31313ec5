// One graph on one canvas: drawn only where it is looked at, moved and zoomed, folded, walked with the keyboard.
const RAMP = ["bitwise", "accent", "warm", "lossy", "bad"];

class View {
  constructor(canvas, model, page) {
    Object.assign(this, { canvas, model, page, scale: 1, x: 0, y: 0, texts: new Map(), colours: {} });
    this.context = canvas.getContext("2d");
    this.listen();
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.arrange();
  }

  arrange() { this.drawing = arranged(this.model); this.draw(); }

  resize() {
    const box = this.canvas.getBoundingClientRect(), dense = window.devicePixelRatio || 1;
    if (!box.width) return;
    const first = !this.width;
    Object.assign(this, { width: box.width, height: box.height, dense });
    Object.assign(this.canvas, { width: Math.round(box.width * dense), height: Math.round(box.height * dense) });
    first ? this.home() : this.draw();
    const chosen = this.page.chosen;
    if (first && chosen) { const mine = chosen.side === this.model.side ? chosen : this.page.twinsOf(chosen)[0]; if (mine) this.reveal(mine, true); }
  }

  /** The top of the drawing, as wide as it fits and is readable; of a wider one, its main column. */
  home() {
    const { width, height } = this.drawing;
    this.scale = Math.max(0.62, Math.min(1, (this.width - 24) / width));
    this.x = width * this.scale < this.width ? (this.width - width * this.scale) / 2 : this.width / 2 - this.mainColumn() * this.scale;
    this.y = height * this.scale < this.height ? (this.height - height * this.scale) / 2 : 12;
    this.draw();
  }

  mainColumn() {
    const tallest = this.model.root.items.reduce((a, b) => (b.height > a.height ? b : a), this.model.root.items[0]);
    return tallest ? tallest.x + tallest.width / 2 : 0;
  }

  fit() {
    const { width, height } = this.drawing;
    this.scale = Math.min(1.2, (this.width - 20) / width, (this.height - 20) / height);
    this.x = (this.width - width * this.scale) / 2;
    this.y = (this.height - height * this.scale) / 2;
    this.draw();
  }

  zoom(factor, atX = this.width / 2, atY = this.height / 2) {
    const scale = Math.min(3, Math.max(0.004, this.scale * factor));
    this.x = atX - ((atX - this.x) * scale) / this.scale;
    this.y = atY - ((atY - this.y) * scale) / this.scale;
    this.scale = scale;
    this.draw();
  }

  /** Bring an item into sight, without moving when it is there. */
  reveal(item, always = false) {
    const at = this.model.shown(item);
    if (at.x === undefined || !this.width) return;
    if (this.scale < 0.5) { this.scale = 0.85; always = true; }
    const left = at.x * this.scale + this.x, top = at.y * this.scale + this.y;
    const inside = left > 8 && top > 8 && left + at.width * this.scale < this.width - 8 && top + Math.min(at.height, 90) * this.scale < this.height - 8;
    if (!inside || always) {
      this.x = this.width / 2 - (at.x + at.width / 2) * this.scale;
      this.y = this.height / 2 - (at.y + Math.min(at.height, this.height / this.scale - 60) / 2) * this.scale;
    }
    this.draw();
  }

  draw() {
    if (this.waits || !this.width) return;
    this.waits = true;
    requestAnimationFrame(() => { this.waits = false; this.paint(); });
  }

  recolour() { this.colours = {}; this.draw(); }
  colour(name) { return (this.colours[name] ??= token(name)); }
  mixed(name, share, base = "surface") {
    const key = `${name} ${share} ${base}`;
    return (this.colours[key] ??= blend(this.colour(base), this.colour(name), share));
  }

  /** What an item is coloured by: the name of a token, or a colour between two for a measured error. */
  tone(item) {
    if (item.kind === "input" || item.kind === "output") return "accent";
    const { level, ratio } = worst(item);
    if (this.page.colour === "fidelity") return level < 0 ? "none" : LEVELS[level];
    return ratio === null ? "none" : rampName(this, ratio);
  }

  paint() {
    const c = this.context, { scale, dense } = this;
    c.setTransform(dense, 0, 0, dense, 0, 0);
    c.fillStyle = this.colour("surface");
    c.fillRect(0, 0, this.width, this.height);
    c.setTransform(dense * scale, 0, 0, dense * scale, dense * this.x, dense * this.y);
    const seen = { left: -this.x / scale, top: -this.y / scale, right: (this.width - this.x) / scale, bottom: (this.height - this.y) / scale };
    const inSight = this.drawing.items.filter((item) => item.x < seen.right && item.x + item.width > seen.left && item.y < seen.bottom && item.y + item.height > seen.top);
    inSight.filter((item) => item.kind === "group" && item.open).forEach((group) => this.paintFrame(group));
    this.paintEdges(seen);
    if (this.scale >= 0.3) inSight.filter((item) => item.kind === "group" && item.open).forEach((group) => this.paintHead(group));
    inSight.filter((item) => !(item.kind === "group" && item.open)).forEach((item) => this.paintItem(item));
    this.paintMarks();
  }

  paintFrame(group) {
    const c = this.context, depth = group.path.split("/").length;
    box(c, group.x, group.y, group.width, group.height, 9);
    c.fillStyle = this.mixed("soft", depth % 2 ? 0.05 : 0.09);
    c.fill();
    c.lineWidth = 1;
    c.strokeStyle = this.colour("line");
    c.stroke();
  }

  /** Over the edges, on a ground of its own: a line must not cross a name. */
  paintHead(group) {
    const c = this.context, depth = group.path.split("/").length, words = `▾ ${group.name}`;
    const long = this.text(words, group.x + 10, group.y + 16, group.width - 20, "600 11px", "transparent");
    c.fillStyle = this.mixed("soft", depth % 2 ? 0.05 : 0.09);
    c.fillRect(group.x + 7, group.y + 4, long + 6, 17);
    this.text(words, group.x + 10, group.y + 16, group.width - 20, "600 11px", this.colour("soft"));
  }

  paintEdges(seen) {
    const c = this.context;
    c.lineWidth = Math.max(1, 0.7 / this.scale);
    for (const faint of [false, true]) {
      c.strokeStyle = this.mixed("soft", faint ? 0.22 : 0.5);
      c.beginPath();
      for (const edge of this.drawing.edges) if (edge.long === faint && edge.top < seen.bottom && edge.bottom > seen.top) trace(c, edge.points);
      c.stroke();
    }
  }

  paintItem(item) {
    const c = this.context, tone = this.tone(item), group = item.kind === "group";
    const { x, y, width, height } = item;
    const round = item.kind === "node" || group ? 6 : height / 2;
    if (this.scale < 0.3) {
      box(c, x, y, width, height, 4);
      c.fillStyle = this.mixed(tone, 0.75);
      c.fill();
      return;
    }
    if (group) { box(c, x + 3, y + 4, width, height, round); c.fillStyle = this.mixed(tone, 0.1); c.fill(); c.strokeStyle = this.mixed(tone, 0.45); c.lineWidth = 1; c.stroke(); }
    box(c, x, y, width, height, round);
    c.fillStyle = this.mixed(tone, item.kind === "node" || group ? 0.11 : 0.08);
    c.fill();
    c.lineWidth = 1;
    c.strokeStyle = this.mixed(tone, 0.5);
    c.stroke();
    if (item.kind === "node") { c.save(); box(c, x, y, width, height, round); c.clip(); c.fillStyle = this.mixed(tone, 1); c.fillRect(x, y, 5, height); c.restore(); }
    group ? this.paintGroup(item) : this.paintWords(item);
  }

  paintWords(item) {
    const left = item.x + 13, room = item.width - 22, ink = this.colour("ink"), soft = this.colour("soft");
    if (item.kind !== "node") { this.text(`${item.kind === "input" ? "→" : "⇥"} ${item.name}`, left, item.y + 17, room, "500 11px", ink); return; }
    const figure = this.page.colour === "error" ? ratioOf(item) : null;
    const label = figure === null ? "" : `${times(figure)} ×`;
    this.text(item.op, left, item.y + 17, room - (label ? 52 : 0), "600 12px", ink);
    if (label) this.text(label, item.x + item.width - 8, item.y + 17, 60, "500 11px", soft, "right");
    this.text(nickname(item), left, item.y + 32, room, "11px", soft);
  }

  paintGroup(group) {
    const c = this.context, { shares } = worst(group), bar = group.width - 24;
    this.text(`▸ ${group.name}`, group.x + 12, group.y + 19, group.width - 24, "600 12px", this.colour("ink"));
    this.text(plural(group.count, "node"), group.x + 12, group.y + 35, group.width - 24, "11px", this.colour("soft"));
    if (this.page.colour === "error") {
      const { ratio } = worst(group);
      if (ratio !== null) this.text(`≤ ${times(ratio)} ×`, group.x + group.width - 12, group.y + 35, 80, "500 11px", this.colour("soft"), "right");
      return;
    }
    let at = group.x + 12;
    for (const level of [...LEVELS, "none"]) {
      const part = ((shares[level] || 0) / group.count) * bar;
      if (part) { c.fillStyle = this.mixed(level, 0.85); c.fillRect(at, group.y + group.height - 9, Math.max(1.5, part - 1), 3); at += part; }
    }
  }

  paintMarks() {
    const chosen = this.page.chosen;
    if (!chosen) return;
    const mine = chosen.side === this.model.side ? [chosen] : [];
    const twins = mine.length ? [] : this.page.twinsOf(chosen);
    const c = this.context;
    for (const [items, strong] of [[twins, false], [mine, true]]) {
      for (const item of new Set(items.map((one) => this.model.shown(one)))) {
        if (item.x === undefined) continue;
        if (strong) this.paintOwnEdges(item);
        box(c, item.x - 3, item.y - 3, item.width + 6, item.height + 6, 9);
        c.lineWidth = (strong ? 2.5 : 2) / Math.min(1, this.scale * 1.4);
        c.strokeStyle = this.colour("accent");
        c.setLineDash(strong ? [] : [5, 3]);
        c.stroke();
        c.setLineDash([]);
      }
    }
  }

  paintOwnEdges(item) {
    const c = this.context;
    c.strokeStyle = this.colour("accent");
    c.lineWidth = 1.8 / Math.min(1, this.scale * 1.4);
    c.beginPath();
    for (const edge of this.drawing.edges) if (edge.a === item || edge.b === item) trace(c, edge.points);
    c.stroke();
  }

  /** Text that ends in … where there is no room; measured once. */
  text(words, x, y, room, font, colour, align = "left") {
    const c = this.context;
    c.font = `${font} system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif`;
    c.fillStyle = colour;
    c.textAlign = align;
    const key = `${font}|${Math.round(room)}|${words}`;
    let known = this.texts.get(key);
    if (known === undefined) {
      let fitting = words;
      while (fitting.length > 2 && c.measureText(fitting).width > room) fitting = `${fitting.slice(0, -2)}…`;
      this.texts.set(key, (known = { fitting, width: c.measureText(fitting).width }));
    }
    c.fillText(known.fitting, x, y);
    return known.width;
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = (event.clientX - box.left - this.x) / this.scale, y = (event.clientY - box.top - this.y) / this.scale;
    return this.drawing.items.findLast((item) => x >= item.x && x <= item.x + item.width && y >= item.y && y <= item.y + item.height);
  }
}

const blend = (base, over, share) => { const [a, b] = [rgb(base), rgb(over)]; return `rgb(${a.map((from, i) => Math.round(from + (b[i] - from) * share)).join(" ")})`; };
const rgb = (colour) => (colour.startsWith("#") ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)) : colour.match(/\d+/g).map(Number));

/** A colour of its own for every ratio, kept under a name like the tokens. */
function rampName(view, ratio) {
  const power = Math.log10(Math.max(ratio, 1e-9)), k = DATA.profile ? Math.log10(DATA.profile.k) : 0.9;
  const stops = [-2, 0, k / 2, k, k + 0.15].map((at, index) => [at, RAMP[index]]);
  const next = stops.findIndex(([at]) => power < at);
  if (next === 0) return stops[0][1];
  if (next < 0) return stops.at(-1)[1];
  const [[from, a], [to, b]] = [stops[next - 1], stops[next]];
  const share = Math.round(((power - from) / (to - from)) * 8) / 8, name = `ramp-${a}-${b}-${share}`;
  view.colours[name] ??= blend(view.colour(a), view.colour(b), share);
  return name;
}

/** What tells a node from others of its operator: the scope that is not drawn around it, or its own name. */
function nickname(node) {
  const drawn = node.parent ? node.parent.path : "";
  const rest = (node.scope || "").slice(drawn.length).replace(/^\//, "");
  const name = rest || node.name.replace(/^\/|\/$/g, "").split("/").at(-1);
  return name.replace(/_\d+$/, "") === node.op && (node.outputs || []).length ? typed(node.outputs[0]) : name;
}

function box(c, x, y, width, height, radius) { c.beginPath(); c.roundRect(x, y, width, height, Math.min(radius, height / 2)); }

function trace(c, points) {
  c.moveTo(points[0][0], points[0][1]);
  for (let index = 1; index < points.length; index += 1) {
    const [[x, y], [toX, toY]] = [points[index - 1], points[index]], half = (y + toY) / 2;
    c.bezierCurveTo(x, half, toX, half, toX, toY);
  }
}
