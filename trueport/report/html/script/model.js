// A graph as the page works with it: nodes with neighbours, groups by scope, and edges at the level where they cross.

/** Nodes and constants from rows of places in the table of texts. */
function unpacked({ rows, constants, texts }, side) {
  const value = ([name, dtype, shape]) => ({ name: texts[name], dtype: texts[dtype], shape });
  const node = ([name, op, scope, fidelity, inputs, outputs, attributes, place, madeBy, reasons], index) => ({
    index, kind: "node", side, name: texts[name], op: texts[op], scope: texts[scope], fidelity: texts[fidelity] || null,
    inputs: inputs.map((at) => texts[at]), outputs: outputs.map(value), attributes: attributes.map((at) => texts[at]),
    place: texts[place], madeBy: texts[madeBy], reasons: reasons.map((at) => texts[at]), before: [], after: [], twins: [],
  });
  return { nodes: rows.map(node), constants: constants.map(value) };
}

class Model {
  constructor(graph, side) {
    this.side = side;
    this.framework = graph.framework;
    const { nodes, constants } = unpacked(graph, side);
    this.nodes = nodes;
    this.constants = new Map(constants.map((value) => [value.name, value]));
    this.byName = new Map(this.nodes.map((node) => [node.name, node]));
    this.drawBorder(graph);
    this.connect();
    this.root = this.group("", null);
    this.groups = new Map([["", this.root]]);
    this.nodes.forEach((node) => this.place(node));
    this.flatten(this.root);
    this.number();
    this.cross();
  }

  /** The model's inputs and outputs stand as nodes too, so that one sees where it begins and ends. */
  drawBorder(graph) {
    const made = new Map(this.nodes.flatMap((node) => (node.outputs || []).map((value) => [value.name, value])));
    const add = (kind, name, inputs, outputs) => this.nodes.push({ index: this.nodes.length, kind, name, op: kind, side: this.side, inputs, outputs, before: [], after: [], twins: [] });
    (graph.inputs || []).forEach((value) => add("input", value.name, [], [value]));
    (graph.outputs || []).forEach((name, index) => add("output", (graph.output_names || [])[index] || name, [name], [made.get(name) || { name }]));
  }

  connect() {
    const maker = new Map();
    for (const node of this.nodes) if (node.kind !== "output") for (const value of node.outputs || []) if (value.name) maker.set(value.name, node);
    this.values = maker;
    for (const node of this.nodes) {
      for (const from of new Set((node.inputs || []).map((name) => maker.get(name)))) {
        if (from && from !== node) { node.before.push(from); from.after.push(node); }
      }
    }
  }

  group(path, parent) {
    const name = parent && parent.path ? path.slice(parent.path.length + 1) : path;
    return { kind: "group", side: this.side, path, name, parent, items: [], inner: new Map(), edges: [], entries: new Set(), exits: new Set(), open: false, count: 0, first: Infinity };
  }

  place(node) {
    let at = this.root;
    for (const part of (node.scope || "").split("/").filter(Boolean)) {
      if (!at.inner.has(part)) {
        const made = this.group(at.path ? `${at.path}/${part}` : part, at);
        at.inner.set(part, made);
        at.items.push(made);
        this.groups.set(made.path, made);
      }
      at = at.inner.get(part);
    }
    at.items.push(node);
    node.parent = at;
  }

  /** A group of one is no group, and a group that holds only another takes that one's place. */
  flatten(group) {
    group.items = group.items.map((item) => {
      if (item.kind !== "group") return item;
      this.flatten(item);
      if (item.items.length !== 1) return item;
      const only = item.items[0];
      this.groups.delete(item.path);
      if (only.kind === "group") only.name = `${item.name}/${only.name}`;
      only.parent = group;
      return only;
    });
  }

  /** Order of making and sizes, from the inside out. What depends on no input stands right before what reads it. */
  number() {
    const order = ordered(this.nodes, (node) => node.after);
    order.forEach((node, index) => { node.rank = index; node.fed = node.kind === "input" || node.before.some((from) => from.fed); });
    [...order].reverse().forEach((node) => { if (!node.fed && node.after.length) node.rank = Math.min(...node.after.map((next) => next.rank)) - 0.5; });
    const visit = (group) => {
      for (const item of group.items) {
        if (item.kind === "group") visit(item);
        group.count += item.kind === "group" ? item.count : 1;
        group.first = Math.min(group.first, item.kind === "group" ? item.first : item.rank);
      }
    };
    visit(this.root);
    this.root.open = true;
  }

  /** Every edge belongs to the innermost group that holds both its ends, as an edge between two of its items;
      the groups inside of that one note what it enters and leaves them by. */
  cross() {
    const deep = (item) => (item.depth ??= item.parent ? deep(item.parent) + 1 : 0);
    const seen = new Map();
    for (const node of this.nodes) {
      for (const other of node.after) {
        let a = node, b = other;
        const leave = () => { a.parent.exits.add(a); a = a.parent; }, enter = () => { b.parent.entries.add(b); b = b.parent; };
        while (deep(a) > deep(b)) leave();
        while (deep(b) > deep(a)) enter();
        while (a.parent !== b.parent) { leave(); enter(); }
        const known = seen.get(a) || seen.set(a, new Set()).get(a);
        if (!known.has(b)) { known.add(b); a.parent.edges.push([a, b]); }
      }
    }
  }

  /** The outermost folded group around a node, or the node itself: what is on the screen for it. */
  shown(item) {
    let found = item;
    for (let at = item.parent; at; at = at.parent) if (!at.open) found = at;
    return found;
  }
}

/** Nodes so that each comes after what it needs; loops are entered where the list enters them. */
function ordered(nodes, after) {
  const waiting = new Map(nodes.map((node) => [node, node.before.length]));
  const ready = nodes.filter((node) => !waiting.get(node));
  const done = [];
  for (let at = 0; at < ready.length; at += 1) {
    done.push(ready[at]);
    for (const next of after(ready[at])) { const left = waiting.get(next) - 1; waiting.set(next, left); if (!left) ready.push(next); }
  }
  if (done.length < nodes.length) { const seen = new Set(done); done.push(...nodes.filter((node) => !seen.has(node))); }
  return done;
}

/** The worst level and the largest ratio of what an item holds, for its colour. */
function worst(item) {
  if (item.kind !== "group") return { level: item.fidelity ? LEVELS.indexOf(item.fidelity) : -1, ratio: ratioOf(item), shares: null };
  if (item.worst) return item.worst;
  const found = { level: -1, ratio: null, shares: {} };
  for (const part of item.items) {
    const inner = worst(part);
    found.level = Math.max(found.level, inner.level);
    if (inner.ratio !== null) found.ratio = Math.max(found.ratio ?? 0, inner.ratio);
    const shares = inner.shares || (part.kind === "node" ? { [part.fidelity || "none"]: 1 } : {});
    for (const [level, count] of Object.entries(shares)) found.shares[level] = (found.shares[level] || 0) + count;
  }
  return (item.worst = found);
}

/** What a node does itself where it was measured, else what it shows. */
function ratioOf(node) {
  const figures = [node, ...(node.side === "target" ? node.twins : [])].map((one) => one.figure).filter(Boolean);
  if (!figures.length) return null;
  return Math.max(...figures.map((figure) => real(figure.own_ratio ?? figure.ratio)));
}

/** Both models, their nodes joined to each other and to the figures that were measured. */
function readModels(data) {
  if (!data.graphs) return null;
  const models = { source: new Model(data.graphs.source, "source"), target: new Model(data.graphs.target, "target") };
  for (const [from, to] of data.graphs.links || []) {
    const [a, b] = [models.source.nodes[from], models.target.nodes[to]];
    a.twins.push(b);
    b.twins.push(a);
  }
  (data.profile ? data.profile.figures : []).forEach((figure, index) => {
    const node = models.source.values.get(figure.value) || models.source.byName.get(figure.node);
    if (!node) return;
    figure.index = index;
    if (!node.figure || real(figure.ratio) > real(node.figure.ratio)) node.figure = figure;
    figure.at = node;
  });
  return models;
}
