// Small words that every part uses: elements, numbers, colours.
const DATA = JSON.parse(document.getElementById("data").textContent);
const LEVELS = ["bitwise", "exact", "approximate", "lossy", "unsupported"];
const MEANING = {
  bitwise: "the same bits", exact: "the same function, rounded elsewhere", approximate: "another formula",
  lossy: "information goes", unsupported: "no translation", none: "no question arose: computed beforehand, or joined to others",
};
const byId = (id) => document.getElementById(id);

/** An element: el("p", {class: "note"}, "text", child, …). Text is never read as markup. */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** JSON has no infinities: they come as words. */
const real = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : value === "nan" ? NaN : value);

function number(value) {
  const found = real(value);
  if (found === null || found === undefined) return "–";
  if (!Number.isFinite(found)) return Number.isNaN(found) ? "NaN" : found > 0 ? "∞" : "−∞";
  if (found === 0) return "0";
  const size = Math.abs(found);
  if (size >= 1e-3 && size < 1e5) return Number(found.toPrecision(3)).toString();
  const [digits, exponent] = found.toExponential(1).split("e");
  return `${digits.replace(".0", "")}e${Number(exponent)}`;
}

const MOST = 1e6;
/** A ratio: of those above a million the digits say how small the noise is, not how large the error. */
const times = (value) => (Number.isFinite(real(value)) && real(value) > MOST ? "> 1e6" : number(value));
/** A cosine that is not one is not rounded to it. */
const cosine = (value) => { const found = real(value); return found > 0.999 && found < 1 ? `1 − ${number(1 - found)}` : number(value); };
const sentence = (words) => (words ? `${words[0].toUpperCase()}${words.slice(1)}` : "");
const isConversion = (data) => (data.task || "convert") === "convert";

const whole = (value) => (value ?? 0).toLocaleString("en");
function short(value) {
  for (const [unit, size] of [["B", 1e9], ["M", 1e6], ["k", 1e3]]) if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  return String(value);
}
function bytes(value) {
  if (value === null || value === undefined) return "–";
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (value >= size) return `${(value / size).toPrecision(3)} ${unit}`;
  return `${value} B`;
}
const seconds = (value) => (value >= 100 ? `${Math.round(value)} s` : value >= 1 ? `${value.toPrecision(3)} s` : `${Math.round(value * 1000)} ms`);
const shape = (dims) => (dims === null || dims === undefined ? "" : `[${dims.map((dim) => dim ?? "?").join(", ")}]`);
const typed = (value) => `${value.dtype || "?"}${shape(value.shape)}`;
const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
const pill = (level) => el("span", { class: `pill f-${level || "none"}` }, level || "none");
const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

function table(heads, rows) {
  const align = heads.map((head) => (head.startsWith("#") ? "num" : null));
  return el("div", { class: "scroll", tabindex: heads.length > 4 ? 0 : null, role: heads.length > 4 ? "region" : null, "aria-label": heads.length > 4 ? "table" : null },
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((head, i) => el("th", { scope: "col", class: align[i] }, head.replace(/^#/, ""))))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) => el("td", { class: align[i] }, cell)))))));
}

/** Two columns, the first a heading of its row. */
function pairs(rows) {
  return el("table", {}, el("tbody", {}, rows.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)))));
}
