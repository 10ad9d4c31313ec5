// The parts that are words and tables: verdict, losses, outputs, details.
const VERDICTS = {
  faithful: ["good", "✓", "Faithful"],
  "within tolerance": ["warn", "≈", "Within your tolerance"],
  departs: ["bad", "!", "Not faithful"],
  none: ["idle", "–", "Not compared"],
};

function verdictOf(data, page) {
  const name = data.verdict || "none";
  const [tone, mark, words] = VERDICTS[name] || ["idle", "≈", name[0].toUpperCase() + name.slice(1).replaceAll("_", " ")];
  return [
    el("h1", { class: "path" }, el("span", {}, base(data.source)), el("span", { class: "soft", "aria-label": isConversion(data) ? "converted to" : "compared with" }, "→"), el("span", {}, base(data.target))),
    el("div", { class: `verdict ${tone}`, id: "verdict-box" }, el("span", { class: "mark", "aria-hidden": "true" }, mark), el("strong", {}, words), el("p", {}, verdictWords(data)), blameOf(data, page)),
    factsOf(data),
  ];
}

const base = (path) => path.replace(/[\\/]+$/, "").split(/[\\/]/).at(-1) || path;

function verdictWords(data) {
  const found = data.comparison;
  if (!found) return "The numbers of source and target were not compared.";
  if (found.skipped) return `The numbers were not compared: ${found.skipped}.`;
  return `${sentence(found.words)}. Compared: ${plural(found.outputs.length, "output")} on ${plural(found.samples, "input")}, ${found.source_runtime} against ${found.target_runtime}; reference: ${found.oracle}.`;
}

/** The first node that differs, in both models, and why: a button leads to it in the graphs. */
function blameOf(data, page) {
  const found = data.profile;
  if (!found || !found.culprit) return null;
  const node = page.culprit(), name = found.node || found.culprit;
  const words = [el("b", {}, found.op || (node ? node.op : "")), " ", el("span", { class: "mono" }, name)];
  const first = node ? el("button", { type: "button", class: "link", onclick: () => page.go(node) }, words) : el("span", {}, words);
  const target = found.target_node ? [", in the target ", el("span", { class: "mono" }, found.target_node)] : [];
  const origin = (found.origin || []).length ? ` (${found.origin.join(", ")})` : "";
  return el("div", { class: "blame" }, el("p", {}, "First node that differs: ", first, target, origin), (found.causes || []).slice(0, 3).map((cause) => el("p", {}, `Cause: ${cause}`)));
}

function factsOf(data) {
  const total = Object.values(data.nodes).reduce((a, b) => a + b, 0), levels = LEVELS.filter((level) => data.nodes[level]);
  const bars = el("div", { class: "share", "aria-hidden": "true" }, levels.map((level) => el("i", { class: `f-${level}`, style: `flex: ${data.nodes[level]}` })));
  const keys = el("div", { class: "keys" }, levels.map((level) => el("span", { title: MEANING[level] }, el("i", { class: `dot f-${level}` }), `${whole(data.nodes[level])} ${level}`)));
  const time = Object.values(data.seconds).reduce((a, b) => a + b, 0), lost = lossesIn(data).length, notes = remarksIn(data).length;
  const fact = (name, value, more = "") => el("div", {}, el("dt", {}, name), el("dd", {}, value, more && el("small", {}, ` ${more}`)));
  return el("dl", { class: "facts" },
    isConversion(data) && el("div", {}, el("dt", {}, `${plural(total, "node")} by declaration: at worst ${data.fidelity}`), el("dd", {}, bars, keys)),
    isConversion(data) && fact("Losses", whole(lost), notes ? `and ${plural(notes, "note")}` : ""),
    data.went_in && fact("Parameters", short(data.went_in.parameters)),
    data.went_in && data.came_out && fact("Operations", whole(sum(data.went_in.operators)), `→ ${whole(sum(data.came_out.operators))}`),
    data.came_out && data.came_out.bytes !== null && fact("Size", bytes(data.came_out.bytes)),
    fact("Time", seconds(time)),
    data.setting && data.setting.peak_bytes !== null && fact("Peak memory", bytes(data.setting.peak_bytes)));
}

const sum = (counts) => Object.values(counts).reduce((a, b) => a + b, 0);

/** Losses, and findings that are worse than exact or have something to say; the worst first. */
function lossesIn(data) {
  const rows = data.losses.map((loss) => ({ level: loss.fidelity, where: loss.where, what: loss.what, because: loss.because, remedy: loss.remedy || "" }));
  for (const finding of data.findings) {
    for (const reason of finding.reasons) rows.push({ level: reason.effect || finding.fidelity, where: finding.where, node: finding.node, what: finding.op, because: reason.because, remedy: reason.remedy, source: finding.source });
  }
  return rows.sort((a, b) => LEVELS.indexOf(b.level) - LEVELS.indexOf(a.level));
}

/** What the check remarked beside: nothing is lost by a note. */
function remarksIn(data) {
  const weights = ["error", "warning", "note"];
  return [...(data.remarks || [])].sort((a, b) => weights.indexOf(a.severity) - weights.indexOf(b.severity)).map((remark) => ({ ...remark, level: remark.severity, what: remark.op || remark.rule }));
}

function lossTable(data, page) {
  const rows = [...lossesIn(data), ...remarksIn(data)];
  if (!rows.length && !isConversion(data)) return [el("p", { class: "note" }, "Losses are declared by a conversion: trueport convert lists them.")];
  if (!rows.length) return [el("p", { class: "note" }, "None. Every node is carried over within its declared bound, and everything the model says of itself is kept.")];
  const merged = new Map();
  for (const row of rows) {
    const key = [row.level, row.what, row.because, row.remedy].join("\n");
    (merged.get(key) || merged.set(key, { ...row, all: [] }).get(key)).all.push(row);
  }
  const place = (row) => { const node = page.find(row.node); return node ? el("button", { type: "button", class: "link", onclick: () => page.go(node) }, row.where) : row.where; };
  const places = (row) => [...row.all.slice(0, 3).map((one) => el("div", {}, place(one), one.source ? el("div", { class: "soft mono" }, one.source) : null)), row.all.length > 3 && el("details", {}, el("summary", {}, `${row.all.length - 3} more`), row.all.slice(3).map((one) => el("div", {}, place(one))))];
  return [el("div", { class: "card padded" }, table(["Level", "Where", "What", "Why", "What to do"], [...merged.values()].map((row) => [pill(row.level), el("div", {}, places(row)), row.what, row.because, row.remedy || "–"])))];
}

function outputTable(data) {
  const found = data.comparison;
  if (!found || !found.outputs.length) return [el("p", { class: "note" }, found && found.skipped ? `Not compared: ${found.skipped}.` : "Not compared.")];
  const metric = (output, name) => (output.metrics ? number(output.metrics[name]) : "–");
  const tone = (verdict) => ({ faithful: "good", "within tolerance": "warn", departs: "bad" })[verdict] || "idle";
  const rows = found.outputs.map((output) => [el("span", { class: "mono" }, output.name), el("span", { class: `pill ${tone(output.verdict)}` }, output.verdict === "departs" ? "not faithful" : output.verdict), times(output.ratio), metric(output, "max_abs"), metric(output, "mean_abs"), metric(output, "max_ulp"), metric(output, "snr_db"), output.metrics ? cosine(output.metrics.cosine) : "–", output.words || output.why]);
  return [
    el("div", { class: "card padded" }, table(["Output", "Verdict", "#× rounding", "#Max abs", "#Mean abs", "#Max ulp", "#SNR dB", "#Cosine", "Why"], rows)),
    el("p", { class: "note" }, `× rounding: the distance from the float64 reference as a multiple of normal rounding. The other figures compare target and source.${found.rejected ? ` ${plural(found.rejected, "input")} that the source itself rejects were left out.` : ""}`),
    ...(found.hidden ? [el("p", { class: "note" }, `Hidden: ${found.hidden}.`)] : []),
    ...(found.hints || []).map((hint) => el("p", { class: "note" }, `Hint: ${hint}`)),
  ];
}

function detailsOf(data) {
  const parts = [];
  if (data.setting && data.setting.command) {
    const copy = el("button", { type: "button", onclick: (event) => navigator.clipboard.writeText(data.setting.command).then(() => { event.target.textContent = "Copied"; }) }, "Copy");
    parts.push(el("h3", {}, "Do it again"), el("div", { class: "card command" }, el("code", {}, data.setting.command), copy));
  }
  const cards = [];
  if (data.went_in) cards.push(artifactCard(isConversion(data) ? "What went in" : "Source", data.went_in));
  if (data.came_out) cards.push(artifactCard(isConversion(data) ? "What came out" : "Target", data.came_out));
  cards.push(portCard("Inputs of the target", data.inputs), portCard("Outputs of the target", data.outputs));
  if (data.went_in && data.came_out) cards.push(operatorCard(isConversion(data) ? "Operators before" : "Operators of the source", data.went_in.operators), operatorCard(isConversion(data) ? "Operators after" : "Operators of the target", data.came_out.operators));
  cards.push(timeCard(data.seconds));
  if (data.setting) cards.push(settingCard(data.setting, data.captured_by || ""));
  if (data.comparison && data.comparison.machine) cards.push(machineCard(data.comparison.machine));
  const users = Object.entries(data.users_operators);
  if (users.length) cards.push(card("Operators of your own", pairs(users)));
  parts.push(el("div", { class: "columns" }, cards.filter(Boolean)));
  return parts;
}

const card = (title, ...content) => el("div", {}, el("h3", {}, title), el("div", { class: "card padded" }, content));

function artifactCard(title, found) {
  const values = (list) => list.map((value) => el("div", {}, el("span", { class: "mono" }, value.name), el("span", { class: "soft" }, ` ${typed(value)}`)));
  const opsets = Object.entries(found.opsets || {}).map(([domain, version]) => `${domain} ${version}`).join(", ");
  return card(title, pairs([
    ["model", el("span", { class: "mono" }, found.name)], ["framework", found.framework], ["made by", found.producer], ["opsets", opsets],
    ["parameters", whole(found.parameters)], ["size", found.bytes === null ? "" : bytes(found.bytes)],
    ["inputs", el("div", {}, values(found.inputs))], ["outputs", el("div", {}, values(found.outputs))],
    ["SHA-256", Object.keys(found.files).length ? el("div", {}, Object.entries(found.files).map(([name, hash]) => el("div", {}, name, " ", el("span", { class: "hash" }, hash)))) : ""],
  ]));
}

function portCard(title, ports) {
  if (!ports.length) return null;
  return card(title, table(["Source", "Target", "Type"], ports.map((port) => [el("span", { class: "mono" }, port.name), el("span", { class: "mono" }, port.parts.join(", ")), `${port.kind === "tensor" ? "" : `${port.kind.replaceAll("_", " of ")} of `}${port.dtype.toLowerCase()}${shape(port.shape)}`])));
}

function operatorCard(title, counts) {
  const rows = Object.entries(counts), most = Math.max(1, ...rows.map(([, count]) => count));
  const line = ([op, count]) => [op, whole(count), el("span", { class: "meter", style: `width: ${(count / most) * 110}px` })];
  const rest = rows.slice(12);
  return card(title, table(["Operator", "#Count", ""], rows.slice(0, 12).map(line)), rest.length ? el("details", {}, el("summary", {}, `${rest.length} more`), table(["Operator", "#Count", ""], rest.map(line))) : null);
}

function timeCard(times) {
  const most = Math.max(1e-9, ...Object.values(times));
  return card("Time", table(["Stage", "#Time", ""], Object.entries(times).map(([stage, time]) => [stage, seconds(time), el("span", { class: "meter", style: `width: ${(time / most) * 110}px` })])));
}

function settingCard(found, capturedBy) {
  return card("Made with", pairs([["Trueport", found.trueport], ["captured by", capturedBy], ["Python", found.python], ["system", found.platform], ...Object.entries(found.packages), ["peak memory", found.peak_bytes === null ? "" : bytes(found.peak_bytes)], ["when", found.at]]));
}

/** Where the numbers were computed: kernels are chosen by the CPU's instructions. */
function machineCard(found) {
  const onednn = found.onednn === null ? "" : found.onednn ? "on" : "off";
  return card("Compared on", pairs([["architecture", found.architecture], ["instructions", found.features.join(", ")], ["threads", whole(found.threads)], ["oneDNN operators", onednn], ...Object.entries(found.environment), ...Object.entries(found.versions)]));
}
