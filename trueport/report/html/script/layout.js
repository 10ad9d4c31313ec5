// Where items stand: layers by the longest way from the top, inside of every open group, in time that grows with its edges.
const NODE = { width: 158, height: 40 }, SMALL = { width: 158, height: 26 };
const GAP = { x: 18, y: 22 }, PAD = 12, HEAD = 24, LONGEST = 40;

function sizeOf(item) {
  if (item.kind === "group") { item.open ? layGroup(item) : Object.assign(item, { width: 176, height: 50 }); return; }
  Object.assign(item, item.kind === "node" ? NODE : SMALL);
}

/** Give every item of an open group its place inside of it, and the group its size. */
function layGroup(group) {
  if (group.laid) return;
  group.items.forEach(sizeOf);
  const { items, edges } = withPorts(group);
  const layer = layersOf(items, edges);
  const { cells, into } = withBends(items, edges, layer);
  const rows = [];
  cells.forEach((cell) => (rows[cell.layer] ??= []).push(cell));
  setColumns(rows, into);
  setRows(rows);
  const left = cells.reduce((least, cell) => Math.min(least, cell.x), Infinity), top = group.parent ? HEAD : 0;
  const width = cells.reduce((most, cell) => Math.max(most, cell.x + cell.width), 0) - left;
  const height = rows.length ? rows.at(-1)[0].bottom : 0;
  const wide = Math.max(width + 2 * PAD, group.parent ? 9 * group.name.length + 40 : 0), side = (wide - width) / 2;
  cells.forEach((cell) => Object.assign(cell, { x: cell.x - left + side, y: cell.y + PAD + top }));
  items.forEach((item, index) => Object.assign(item, { dx: cells[index].x, dy: cells[index].y, slot: index }));
  group.bends = new Map();
  for (const cell of cells.slice(items.length)) {
    const key = cell.edge.join(" ");
    // Straight down beside the row: it is between rows that a line moves aside.
    const x = cell.x + cell.width / 2, ends = [[x, cell.top + PAD + top], [x, cell.bottom + PAD + top]];
    (group.bends.get(key) || group.bends.set(key, []).get(key)).push(...ends);
  }
  Object.assign(group, { width: wide, height: height + 2 * PAD + top, laid: true });
}

/** The items in order, with a port where edges come in from above and one where they leave below. */
function withPorts(group) {
  const firstOf = (item) => (item.kind === "group" ? item.first : item.rank);
  const port = () => ({ kind: "port", width: 10, height: 0 });
  const items = [...group.items].sort((a, b) => firstOf(a) - firstOf(b));
  group.enter = group.entries.size ? port() : null;
  group.leave = group.exits.size ? port() : null;
  if (group.enter) items.unshift(group.enter);
  if (group.leave) items.push(group.leave);
  const place = new Map(items.map((item, index) => [item, index]));
  group.lines = [...group.edges, ...[...group.entries].map((item) => [group.enter, item]), ...[...group.exits].map((item) => [item, group.leave])];
  return { items, edges: group.lines.map(([a, b]) => [place.get(a), place.get(b)]).filter(([a, b]) => a < b) };
}

function layersOf(items, edges) {
  const layer = new Int32Array(items.length);
  [...edges].sort((a, b) => a[0] - b[0]).forEach(([a, b]) => (layer[b] = Math.max(layer[b], layer[a] + 1)));
  // What feeds only something far below stands right above it.
  const nearest = new Int32Array(items.length).fill(1 << 30), fed = new Uint8Array(items.length);
  edges.forEach(([a, b]) => { nearest[a] = Math.min(nearest[a], layer[b]); fed[b] = 1; });
  items.forEach((_, index) => { if (!fed[index] && nearest[index] < 1 << 30) layer[index] = nearest[index] - 1; });
  return layer;
}

/** Edges over several layers get a thin cell in each, so that nothing is drawn across a node. */
function withBends(items, edges, layer) {
  const port = (item, name) => (item.kind === "group" && item.open && item[name] ? item[name].dx + item[name].width / 2 : item.width / 2);
  const cells = items.map((item, index) => ({ layer: layer[index], width: item.width, height: item.height, head: port(item, "enter"), foot: port(item, "leave") }));
  const into = new Map();
  const link = (a, b) => (into.get(b) || into.set(b, []).get(b)).push(a);
  let spare = 4 * items.length + 2000;
  for (const [a, b] of edges) {
    const span = layer[b] - layer[a];
    if (span > LONGEST || span > spare) { if (span <= 1) link(cells[a], cells[b]); continue; }
    let last = cells[a];
    for (let at = layer[a] + 1; at < layer[b]; at += 1) {
      const bend = { layer: at, width: 10, height: 0, head: 5, foot: 5, edge: [a, b] };
      cells.push(bend);
      link(last, bend);
      last = bend;
      spare -= 1;
    }
    link(last, cells[b]);
  }
  return { cells, into };
}

/** Each cell as near below what it comes from, and above what it goes to, as its neighbours let it. */
function setColumns(rows, into) {
  const out = new Map();
  for (const [cell, from] of into) for (const other of from) (out.get(other) || out.set(other, []).get(other)).push(cell);
  rows.forEach((row) => row.forEach((cell, index) => Object.assign(cell, { x: 0, tie: index })));
  rows.forEach((row) => setRow(row, into, "head", "foot"));
  [...rows].reverse().forEach((row) => setRow(row, out, "foot", "head"));
  rows.forEach((row) => setRow(row, into, "head", "foot"));
}

/** One row by its neighbours on one side, end to end; what has none there stays where it is. */
function setRow(row, neighbours, mine, theirs) {
  for (const cell of row) {
    const from = neighbours.get(cell);
    cell.want = from ? from.reduce((sum, other) => sum + other.x + other[theirs], 0) / from.length - cell[mine] : cell.x;
  }
  // A bend that leaves the same node as a real one goes to its right.
  const middle = (cell) => cell.want + cell.width / 2;
  row.sort((a, b) => middle(a) - middle(b) || (a.edge ? 1 : 0) - (b.edge ? 1 : 0) || a.tie - b.tie);
  let right = -Infinity;
  for (const cell of row) { cell.x = Math.max(cell.want, right); right = cell.x + cell.width + GAP.x; }
  const nodes = row.filter((cell) => !cell.edge), judged = nodes.length ? nodes : row;
  const shift = judged.reduce((sum, cell) => sum + cell.want - cell.x, 0) / judged.length;
  row.forEach((cell) => (cell.x += shift));
}

function setRows(rows) {
  let top = 0;
  for (const row of rows) {
    const height = row.reduce((most, cell) => Math.max(most, cell.height), 0);
    row.forEach((cell) => Object.assign(cell, { y: top + (height - cell.height) / 2, top, bottom: top + height }));
    top += height + GAP.y;
  }
}

/** All that is on the screen, with places in the whole drawing: open groups before what they hold. */
function arranged(model) {
  layGroup(model.root);
  const items = [], edges = [];
  const visit = (group, x, y) => {
    for (const item of group.items) {
      item.x = x + item.dx;
      item.y = y + item.dy;
      items.push(item);
      if (item.kind === "group" && item.open) visit(item, item.x, item.y);
    }
    for (const port of [group.enter, group.leave]) if (port) Object.assign(port, { x: x + port.dx, y: y + port.dy });
    for (const [a, b] of group.lines) {
      const bends = (group.bends.get(`${a.slot} ${b.slot}`) || []).map(([bx, by]) => [x + bx, y + by]);
      edges.push(lineOf(a, b, bends, group));
    }
  };
  visit(model.root, 0, 0);
  return { items, edges, width: model.root.width, height: model.root.height };
}

/** From the foot of one item to the head of another; a port reaches to the edge of its group, where the outer line ends. */
function lineOf(a, b, bends, group) {
  const foot = a.kind === "group" && a.open && a.leave ? a.leave : a, head = b.kind === "group" && b.open && b.enter ? b.enter : b;
  const points = [[foot.x + foot.width / 2, a.y + a.height], ...bends, [head.x + head.width / 2, b.y]];
  if (a.kind === "port") points.unshift([points[0][0], group.y]);
  if (b.kind === "port") points.push([points.at(-1)[0], group.y + group.height]);
  const [first, last] = [points[0][1], points.at(-1)[1]];
  return { a: a.kind === "port" ? group : a, b: b.kind === "port" ? group : b, points, top: Math.min(first, last), bottom: Math.max(first, last), long: !bends.length && Math.abs(last - first) > 600 };
}

/** Fold or unfold, and forget the places of everything around. */
function setOpen(group, open) {
  group.open = open;
  for (let at = group; at; at = at.parent) at.laid = false;
}
