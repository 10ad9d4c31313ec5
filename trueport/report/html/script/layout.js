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
  const firstOf = (item) => (item.kind === "group" ? item.first : item.rank);
  const items = [...group.items].sort((a, b) => firstOf(a) - firstOf(b));
  const place = new Map(items.map((item, index) => [item, index]));
  const edges = group.edges.map(([a, b]) => [place.get(a), place.get(b)]).filter(([a, b]) => a < b);
  const layer = layersOf(items, edges);
  const { cells, into } = withBends(items, edges, layer);
  const rows = [];
  cells.forEach((cell) => (rows[cell.layer] ??= []).push(cell));
  setColumns(rows, into);
  setRows(rows);
  const left = Math.min(0, ...cells.map((cell) => cell.x));
  cells.forEach((cell) => (cell.x -= left));
  const width = cells.reduce((most, cell) => Math.max(most, cell.x + cell.width), 0);
  const height = rows.length ? rows.at(-1)[0].bottom : 0;
  const top = group.parent ? HEAD : 0;
  items.forEach((item, index) => Object.assign(item, { dx: cells[index].x + PAD, dy: cells[index].y + PAD + top }));
  group.bends = new Map();
  cells.slice(items.length).forEach((cell) => {
    const key = `${cell.edge[0]} ${cell.edge[1]}`;
    (group.bends.get(key) || group.bends.set(key, []).get(key)).push([cell.x + cell.width / 2 + PAD, cell.y + cell.height / 2 + PAD + top]);
  });
  items.forEach((item, index) => (item.slot = index));
  Object.assign(group, { width: Math.max(width + 2 * PAD, 150), height: height + 2 * PAD + top, laid: true });
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
  const cells = items.map((item, index) => ({ layer: layer[index], width: item.width, height: item.height, index }));
  const into = new Map();
  const link = (a, b) => (into.get(b) || into.set(b, []).get(b)).push(a);
  let spare = 4 * items.length + 2000;
  for (const [a, b] of edges) {
    const span = layer[b] - layer[a];
    if (span > LONGEST || span > spare) { if (span <= 1) link(cells[a], cells[b]); continue; }
    let last = cells[a];
    for (let at = layer[a] + 1; at < layer[b]; at += 1) {
      const bend = { layer: at, width: 10, height: 0, edge: [a, b] };
      cells.push(bend);
      link(last, bend);
      last = bend;
      spare -= 1;
    }
    link(last, cells[b]);
  }
  return { cells, into };
}

/** Each cell as near below what it comes from as its neighbours let it. */
function setColumns(rows, into) {
  const middle = (cell) => cell.x + cell.width / 2;
  for (const row of rows) {
    row.forEach((cell, index) => {
      const from = into.get(cell) || [];
      cell.want = from.length ? from.reduce((sum, other) => sum + middle(other), 0) / from.length : null;
      cell.tie = index;
    });
    const known = row.filter((cell) => cell.want !== null);
    const usual = known.length ? known.reduce((sum, cell) => sum + cell.want, 0) / known.length : 0;
    row.forEach((cell) => (cell.want ??= usual));
    // A bend that leaves the same node as a real one goes to its right.
    row.sort((a, b) => a.want - b.want || (a.edge ? 1 : 0) - (b.edge ? 1 : 0) || a.tie - b.tie);
    let right = -Infinity;
    for (const cell of row) { cell.x = Math.max(cell.want - cell.width / 2, right); right = cell.x + cell.width + GAP.x; }
    const real = row.filter((cell) => !cell.edge);
    const judged = real.length ? real : row;
    const shift = judged.reduce((sum, cell) => sum + cell.want - middle(cell), 0) / judged.length;
    row.forEach((cell) => (cell.x += shift));
  }
}

function setRows(rows) {
  let top = 0;
  for (const row of rows) {
    const height = row.reduce((most, cell) => Math.max(most, cell.height), 0);
    row.forEach((cell) => Object.assign(cell, { y: top + (height - cell.height) / 2, bottom: top + height }));
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
    for (const [a, b] of group.edges) {
      const bends = (group.bends.get(`${a.slot} ${b.slot}`) || []).map(([bx, by]) => [x + bx, y + by]);
      const points = [[a.x + a.width / 2, a.y + a.height], ...bends, [b.x + b.width / 2, b.y]];
      edges.push({ a, b, points, top: Math.min(points[0][1], points.at(-1)[1]), bottom: Math.max(points[0][1], points.at(-1)[1]), long: !bends.length && Math.abs(points[0][1] - points.at(-1)[1]) > 600 });
    }
  };
  visit(model.root, 0, 0);
  return { items, edges, width: model.root.width, height: model.root.height };
}

/** Fold or unfold, and forget the places of everything around. */
function setOpen(group, open) {
  group.open = open;
  for (let at = group; at; at = at.parent) at.laid = false;
}
