// Everything about the node that was chosen.
function panelOf(item, page) {
  if (!item) return [el("p", { class: "empty" }, "Select a node in either graph, in the plot, or by searching. Its attributes, shapes, partner in the other model and measured error are shown here.")];
  return item.kind === "group" ? aboutGroup(item, page) : aboutNode(item, page);
}

function aboutGroup(group, page) {
  const { shares, ratio } = worst(group), ops = new Map();
  const visit = (at) => at.items.forEach((item) => (item.kind === "group" ? visit(item) : ops.set(item.op, (ops.get(item.op) || 0) + 1)));
  visit(group);
  return [
    el("h2", { class: "title" }, group.name),
    el("p", { class: "where" }, `a layer of the ${group.side}, ${plural(group.count, "node")}`),
    el("button", { type: "button", onclick: () => { page.toggle(group); page.choose(group); } }, group.open ? "Fold" : "Unfold"),
    ...(isConversion(page.data) ? [el("h3", {}, "Fidelity"), pairs([...LEVELS, "none"].filter((level) => shares[level]).map((level) => [pill(level), plural(shares[level], "node")]))] : []),
    ...(ratio === null ? [] : [el("h3", {}, "Measured"), pairs([["largest error", `${times(ratio)} × normal rounding`]])]),
    el("h3", {}, "Operators"), pairs([...ops].sort((a, b) => b[1] - a[1]).map(([op, count]) => [op, whole(count)])),
  ];
}

function aboutNode(node, page) {
  const model = page.models[node.side];
  const parts = [
    el("h2", { class: "title" }, node.op, " ", node.kind === "node" && isConversion(page.data) ? pill(node.fidelity) : null),
    el("p", { class: "where mono" }, node.name),
  ];
  if (node.kind === "node" && node.fidelity) parts.push(el("p", { class: "note" }, `${node.fidelity}: ${MEANING[node.fidelity]}`));
  for (const reason of node.reasons || []) parts.push(el("p", { class: `reason f-${node.fidelity || "none"}` }, reason));
  if (node.figure || node.twins.some((twin) => twin.figure)) parts.push(...aboutFigure(node));
  if (node.twins.length) parts.push(el("h3", {}, `In the ${node.side === "source" ? "target" : "source"}`), linkedList(node.twins, page));
  else if (node.kind === "node") parts.push(el("h3", {}, `In the ${node.side === "source" ? "target" : "source"}`), el("p", { class: "note" }, node.side === "source" && isConversion(page.data) ? "Nothing of its own: it was computed beforehand, joined to another node, or changes only the order of axes." : isConversion(page.data) ? "Made by the conversion; it goes back to no single node." : "No node is known to make the same values."));
  parts.push(...valuesOf("Inputs", node.inputs || [], model), ...valuesOf("Outputs", (node.outputs || []).map((value) => value.name), model, node));
  const words = node.attributes || [], attributes = words.flatMap((word, at) => (at % 2 ? [] : [[word, el("code", {}, words[at + 1])]]));
  if (attributes.length) parts.push(el("h3", {}, "Attributes"), pairs(attributes));
  const origin = [["layer", node.scope], ["source line", node.place && el("code", {}, node.place)], ["made by", node.madeBy], ["order", node.kind === "node" ? `${node.index + 1} of ${whole(model.nodes.length)}` : ""]].filter(([, value]) => value);
  parts.push(el("h3", {}, "Where it comes from"), pairs(origin));
  return parts;
}

function linkedList(nodes, page) {
  const shown = nodes.slice(0, 12).map((node) => el("button", { type: "button", onclick: () => page.choose(node, { open: true }) }, el("b", {}, node.op), " ", el("span", { class: "mono" }, node.name)));
  return el("div", { class: "linked" }, shown, nodes.length > 12 && el("span", { class: "soft" }, `and ${nodes.length - 12} more`));
}

function valuesOf(title, names, model, maker = null) {
  if (!names.filter(Boolean).length) return [];
  const known = (name) => {
    const from = maker || model.values.get(name), made = from && (from.outputs || []).find((value) => value.name === name);
    return made || model.constants.get(name) || { name, dtype: "" };
  };
  return [el("h3", {}, title), el("table", {}, el("tbody", {}, names.map((name) => el("tr", {},
    el("td", {}, el("span", { class: "mono" }, name || "left out"), model.constants.has(name) ? el("span", { class: "soft" }, " weight") : null),
    el("td", { class: "mono" }, name ? typed(known(name)) : "")))))];
}

function aboutFigure(node) {
  const figure = node.figure || node.twins.find((twin) => twin.figure).figure, rows = [
    ["whole error", `${number(figure.error)} (${times(figure.ratio)} ×)`],
    figure.own !== null && figure.own !== undefined ? ["its own", `${number(figure.own)} (${times(figure.own_ratio)} ×)`] : ["", null],
    ["noise floor", real(figure.floor) === 0 ? "0: the source is exact here" : Number.isNaN(real(figure.floor)) ? "not known" : number(figure.floor)],
    ["value", el("span", { class: "mono" }, figure.value)],
  ];
  const parts = [el("h3", {}, "Measured error"), pairs(rows)];
  if (figure.histogram) parts.push(histogramOf(figure.histogram));
  return parts;
}

/** Distances from the float64 reference in half decades: the source's beside the target's. */
function histogramOf(found) {
  const bars = [["exact", found.source_exact, found.target_exact], ...found.source.map((count, i) => [(found.start + i) / 2, count, found.target[i]])];
  const [width, height, foot] = [316, 104, 16], most = Math.max(1, ...bars.flatMap(([, a, b]) => [a, b])), step = width / bars.length;
  const tall = (count) => (count ? Math.max(1.5, (Math.log1p(count) / Math.log1p(most)) * (height - foot - 6)) : 0);
  const words = bars.filter(([, a, b]) => a || b).map(([at, a, b]) => `${at === "exact" ? "no distance" : `from 1e${at}`}: source ${a}, target ${b}`).join("; ");
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `How many elements are how far from the float64 reference. ${words}` });
  bars.forEach(([at, a, b], index) => {
    const thick = Math.min(14, step * 0.42), middle = (index + 0.5) * step;
    for (const [count, name, x] of [[a, "bar-source", middle - thick], [b, "bar-target", middle]]) drawing.append(svg("rect", { class: name, x, y: height - foot - tall(count), width: Math.max(1, thick - 0.5), height: tall(count) }));
    if (at === "exact" || (Number.isInteger(at) && (bars.length < 12 || at % 2 === 0))) {
      const label = svg("text", { x: middle, y: height - 4, "text-anchor": "middle" });
      label.textContent = at === "exact" ? "0" : `1e${at}`;
      drawing.append(label);
    }
  });
  return el("figure", { style: "margin: .5rem 0 0" }, el("figcaption", { class: "legend" },
    el("span", {}, "Elements by distance from the float64 reference:"), el("span", {}, el("i", { class: "swatch", style: "--tone: var(--floor)" }), "source"), el("span", {}, el("i", { class: "swatch", style: "--tone: var(--accent)" }), "target")), drawing);
}
