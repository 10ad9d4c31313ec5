// What hands do to a graph: pointer, wheel, keys.
Object.assign(View.prototype, {
  listen() {
    const { canvas } = this;
    let held = null;
    canvas.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY, moved: false }; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      if (!held) { canvas.style.cursor = this.at(event) ? "pointer" : "grab"; return; }
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      if (Math.hypot(dx, dy) < 4 && !held.moved) return;
      Object.assign(held, { x: event.clientX, y: event.clientY, moved: true });
      this.x += dx;
      this.y += dy;
      this.draw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (held && !held.moved) { const item = this.at(event); item ? this.page.choose(item) : this.page.choose(null); }
      held = null;
    });
    canvas.addEventListener("dblclick", (event) => { const item = this.at(event); if (item && item.kind === "group") this.page.toggle(item); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const at = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.clientX - at.left, event.clientY - at.top);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => { if (!event.ctrlKey && !event.metaKey && !event.altKey && this.press(event.key)) event.preventDefault(); });
  },

  press(key) {
    if (key === "+" || key === "=") return this.zoom(1.25), true;
    if (key === "-") return this.zoom(0.8), true;
    if (key === "0") return this.fit(), true;
    const mine = this.page.chosen && this.page.chosen.side === this.model.side ? this.model.shown(this.page.chosen) : null;
    if (key === "Escape") return this.page.choose(null), true;
    if (key === "o" || key === "O") return this.page.cross(), true;
    if (key === "Enter" || key === " ") {
      const group = mine && (mine.kind === "group" ? mine : mine.parent && mine.parent.parent ? mine.parent : null);
      if (group) { this.page.toggle(group); this.page.choose(group); }
      return true;
    }
    if (!key.startsWith("Arrow")) return false;
    const next = mine ? this.neighbour(mine, key.slice(5)) : this.drawing.items[0];
    if (next) this.page.choose(next);
    return true;
  },

  neighbour(item, way) {
    if (way === "Down") return inner(item) || (this.drawing.edges.find((edge) => edge.a === item && edge.b !== item.parent) || {}).b || next(item.parent, this);
    if (way === "Up") return (this.drawing.edges.find((edge) => edge.b === item) || {}).a;
    const beside = this.drawing.items.filter((other) => other !== item && other.y < item.y + item.height && other.y + other.height > item.y && !(other.kind === "group" && other.open));
    const side = way === "Right" ? 1 : -1;
    return beside.filter((other) => side * (other.x - item.x) > 0).sort((a, b) => side * (a.x - b.x))[0];
  },
});

/** The first item of an open group. */
function inner(item) { return item.kind === "group" && item.open ? item.items.reduce((a, b) => (b.y < a.y ? b : a)) : null; }

/** What follows a group whose last item was reached. */
function next(group, view) {
  const edge = group && group.parent ? view.drawing.edges.find((one) => one.a === group && one.b !== group.parent && one.b.parent !== group) : null;
  return edge ? edge.b : group && group.parent ? next(group.parent, view) : null;
}
