// The page: what is chosen, and who is told of it.
class Page {
  constructor(data) {
    Object.assign(this, { data, colour: isConversion(data) || !data.profile || !data.profile.figures.length ? "fidelity" : "error", chosen: null, models: readModels(data), views: {} });
    byId("verdict").replaceChildren(...verdictOf(data, this));
    byId("losses-body").replaceChildren(...lossTable(data, this));
    byId("outputs-body").replaceChildren(...outputTable(data));
    byId("details-body").replaceChildren(...detailsOf(data));
    this.showPlot();
    this.showGraphs();
    this.listen();
    if (data.verdict !== "faithful" && this.culprit()) this.choose(this.culprit(), { open: true });
  }

  /** The first node that differs, where it was found and is drawn. */
  culprit() {
    const found = this.data.profile;
    if (!found || !found.culprit || !this.models) return null;
    const { source, target } = this.models;
    return source.byName.get(found.node) || source.values.get(found.culprit) || target.byName.get(found.target_node) || null;
  }

  showPlot() {
    if (this.data.profile && this.data.profile.figures.length) { this.plot = new Plot(byId("plot"), this.data.profile, this); return; }
    const why = this.data.profile ? `Not measured: ${this.data.profile.why}.` : "Not measured in this run. Intermediate values are measured when a page is asked for: --report report.html, or --profile.";
    byId("plot").replaceChildren(el("p", { class: "note" }, why));
    document.querySelector("#error .tools").hidden = true;
  }

  showGraphs() {
    if (!this.models) {
      byId("panes").replaceChildren(el("p", { class: "note" }, "The graphs are not part of this report."));
      for (const part of document.querySelectorAll("#graphs .tools, #legend, #keys")) part.hidden = true;
      return;
    }
    for (const side of ["source", "target"]) {
      const model = this.models[side];
      byId(`cap-${side}`).replaceChildren(el("b", {}, side === "source" ? "Source" : "Target"), ` ${model.framework} · ${plural(model.nodes.filter((node) => node.kind === "node").length, "node")}`);
      this.openSome(model);
      this.views[side] = new View(byId(`canvas-${side}`), model, this);
    }
    this.showLegend();
    byId("panel").replaceChildren(...panelOf(null, this));
  }

  /** Open the outer layers while what is shown stays within a screenful or two. */
  openSome(model) {
    let shown = model.root.items.length;
    const waiting = model.root.items.filter((item) => item.kind === "group");
    while (waiting.length) {
      const group = waiting.shift();
      if (shown + group.items.length > 60) break;
      shown += group.items.length;
      setOpen(group, true);
      waiting.push(...group.items.filter((item) => item.kind === "group"));
    }
  }

  showLegend() {
    const dot = (level) => el("span", { title: MEANING[level] }, el("i", { class: `dot f-${level}` }), level === "none" ? "computed beforehand or joined" : level);
    if (this.colour === "fidelity") { byId("legend").replaceChildren(...[...LEVELS, "none"].map(dot)); return; }
    const k = this.data.profile ? number(this.data.profile.k) : "";
    byId("legend").replaceChildren(el("span", {}, "error as a multiple of normal rounding: 0.01 ×", el("i", { class: "ramp", style: "background: linear-gradient(90deg, var(--bitwise), var(--accent) 55%, var(--warm) 75%, var(--lossy) 93%, var(--bad))" }), `over ${k} ×`), dotNone());
  }

  /** What stands in the other model for an item: its partners, or the layer of the same name. */
  twinsOf(item) {
    if (item.kind !== "group") return item.twins;
    const other = this.models[item.side === "source" ? "target" : "source"].groups.get(item.path);
    if (other) return [other];
    const found = [];
    const visit = (group) => group.items.forEach((one) => (one.kind === "group" ? visit(one) : found.push(...one.twins)));
    visit(item);
    return found.slice(0, 400);
  }

  choose(item, { open = false } = {}) {
    this.chosen = item;
    byId("panel").replaceChildren(...panelOf(item, this));
    byId("panel").scrollTop = 0;
    if (item) {
      if (open) this.unfoldTo(item);
      this.views[item.side].reveal(item);
      const twin = this.twinsOf(item)[0];
      if (twin) { if (open) this.unfoldTo(twin); this.views[twin.side].reveal(twin); }
      this.say(item.kind === "group" ? `layer ${item.name}, ${plural(item.count, "node")}, ${item.open ? "unfolded" : "folded"}` : `${item.op} ${item.name}${item.fidelity ? `, ${item.fidelity}` : ""}`);
    }
    Object.values(this.views).forEach((view) => view.draw());
  }

  unfoldTo(item) {
    for (let at = item.parent; at; at = at.parent) if (!at.open) setOpen(at, true);
    this.views[item.side].arrange();
  }

  toggle(group) {
    setOpen(group, !group.open);
    const view = this.views[group.side], before = [group.x * view.scale + view.x, group.y * view.scale + view.y];
    view.arrange();
    // What was clicked stays under the hand.
    view.x = before[0] - group.x * view.scale;
    view.y = before[1] - group.y * view.scale;
    view.draw();
  }

  foldAll(open) {
    for (const side of ["source", "target"]) {
      for (const group of this.models[side].groups.values()) if (group.parent) { group.open = open; group.laid = false; }
      this.models[side].root.laid = false;
      this.views[side].arrange();
      this.chosen ? this.views[side].reveal(this.chosen.side === side ? this.chosen : this.twinsOf(this.chosen)[0] || this.models[side].root.items[0]) : this.views[side].home();
    }
  }

  /** To the partner in the other graph. */
  cross() {
    const twin = this.chosen && this.twinsOf(this.chosen)[0];
    if (!twin) return;
    this.choose(twin, { open: twin.kind !== "group" });
    byId(`canvas-${twin.side}`).focus();
  }

  find(name) { return name && this.models ? this.models.source.byName.get(name) || this.models.target.byName.get(name) : null; }
  go(node) { this.choose(node, { open: true }); byId("graphs").scrollIntoView(); byId(`canvas-${node.side}`).focus({ preventScroll: true }); }
  say(words) { byId("live").textContent = words; }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    Object.values(this.views).forEach((view) => view.recolour());
  }

  listen() {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    let own = null;
    const theme = () => this.setTheme(own || (dark.matches ? "dark" : "light"));
    dark.addEventListener("change", theme);
    theme();
    byId("theme").addEventListener("click", () => { own = document.documentElement.dataset.theme === "dark" ? "light" : "dark"; theme(); });
    window.addEventListener("beforeprint", () => { this.setTheme("light"); Object.values(this.views).forEach((view) => view.paint()); });
    window.addEventListener("afterprint", theme);
    for (const button of document.querySelectorAll("[data-plot]")) button.addEventListener("click", () => { this.press(button, "[data-plot]"); if (this.plot) { this.plot.mode = button.dataset.plot; this.plot.render(); } });
    if (!this.models) return;
    for (const button of document.querySelectorAll("[data-colour]")) button.addEventListener("click", () => { this.press(button, "[data-colour]"); this.colour = button.dataset.colour; this.showLegend(); Object.values(this.views).forEach((view) => view.draw()); });
    if (!this.plot || !isConversion(this.data)) document.querySelector('[data-colour="error"]').parentElement.hidden = true;
    if (!this.plot && !isConversion(this.data)) byId("legend").hidden = true;
    byId("fold").addEventListener("click", () => this.foldAll(false));
    byId("unfold").addEventListener("click", () => this.foldAll(true));
    for (const button of document.querySelectorAll("[data-zoom]")) {
      const [side, how] = button.dataset.zoom.split(" ");
      button.addEventListener("click", () => (how === "fit" ? this.views[side].fit() : this.views[side].zoom(how === "+" ? 1.3 : 1 / 1.3)));
    }
    new Search(byId("search"), byId("hits"), this);
  }

  press(button, kin) { for (const other of document.querySelectorAll(kin)) other.setAttribute("aria-pressed", String(other === button)); }
}

const dotNone = () => el("span", {}, el("i", { class: "dot f-none" }), "not measured");

/** A box that finds nodes by name, operator or value in both graphs. */
class Search {
  constructor(input, list, page) {
    Object.assign(this, { input, list, page, hits: [], at: 0 });
    input.addEventListener("input", () => this.look());
    input.addEventListener("focus", () => this.look());
    input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    input.addEventListener("keydown", (event) => this.press(event));
  }

  look() {
    const words = this.input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return this.close();
    const text = (node) => (node.words ??= `${node.op} ${node.name} ${(node.outputs || []).map((value) => value.name).join(" ")}`.toLowerCase());
    const whole = (node) => Number(node.name.toLowerCase() === words[0]) * 2 + Number(node.op.toLowerCase() === words[0]);
    const found = ["source", "target"].flatMap((side) => this.page.models[side].nodes.filter((node) => words.every((word) => text(node).includes(word))));
    this.total = found.length;
    this.hits = found.map((node, index) => [whole(node), index, node]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 40).map(([, , node]) => node);
    this.at = 0;
    this.show();
  }

  show() {
    this.list.replaceChildren(...this.hits.map((node, index) => el("li", { role: "option", id: `hit-${index}`, "aria-selected": String(index === this.at), onpointerdown: () => this.take(index) }, el("span", { class: "soft" }, node.side), el("b", {}, node.op), el("span", { class: "mono" }, el("bdi", {}, node.name)))));
    if (!this.hits.length) this.list.append(el("li", { role: "option", "aria-selected": "false" }, el("span", {}), "Nothing found"));
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.input.setAttribute("aria-activedescendant", this.hits.length ? `hit-${this.at}` : "");
    this.page.say(`${plural(this.total, "node")} found`);
  }

  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.hits.length) { event.preventDefault(); this.at = (this.at + step + this.hits.length) % this.hits.length; this.show(); byId(`hit-${this.at}`).scrollIntoView({ block: "nearest" }); }
    if (event.key === "Enter" && this.hits.length) { event.preventDefault(); this.take(this.at); }
    if (event.key === "Escape") this.close();
  }

  take(index) { this.page.choose(this.hits[index], { open: true }); this.close(); }
  close() { this.list.hidden = true; this.input.setAttribute("aria-expanded", "false"); this.input.removeAttribute("aria-activedescendant"); }
}

// Within reach of the browser's console.
window.report = new Page(DATA);
document.documentElement.dataset.ready = "yes";
