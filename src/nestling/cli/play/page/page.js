"use strict";
// The page of `nestling play`. It keeps the answer as the server's document and applies its JSON Patches to it: what a
// patch touches lights up. All that is shown is made by textContent, but for the explanation, which the server escapes.

const $ = (id) => document.getElementById(id);
const MOST = 200; // rows that are drawn

let state = null; // what the left side shows
let rows = null; // the answer, or null where it is XML
let version = -1;
let lit = new WeakSet(); // records, boxes and bags to light up: something came
let lost = new WeakSet(); // bags that lost something
let cells = new WeakMap(); // of a record, the columns that changed
let timer = null;

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  const response = await fetch(path, options);
  const found = await response.json();
  if (found.error) throw found.error;
  return found;
}

function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

// -- errors

function show(problem, place, mild = false) {
  place.hidden = !problem;
  place.classList.toggle("mild", mild);
  place.replaceChildren();
  if (!problem) return;
  place.append(node("b", {}, problem.what));
  if (problem.place) {
    const { line, column, length, text } = problem.place;
    place.append(node("pre", {}, `line ${line}\n${text}\n${" ".repeat(column)}${"^".repeat(Math.max(1, length))}`));
  }
  if (problem.hint) place.append(node("p", {}, problem.hint));
}

function failed(place) {
  return (error) => show(error.what ? error : { what: String(error) }, place);
}

// -- the view

async function define() {
  const asked = { text: $("text").value, language: $("language").value };
  try {
    const found = await ask("view", asked);
    show(found.warnings.length ? { what: found.warnings.join("\n") } : null, $("problem"), true);
    $("explained").innerHTML = found.explained; // escaped by the server, and no script may run in it
    for (const row of $("explained").querySelectorAll(".placed")) {
      row.tabIndex = 0;
      row.addEventListener("click", () => mark(row.dataset));
      row.addEventListener("keydown", (event) => event.key === "Enter" && mark(row.dataset));
    }
    take(found);
  } catch (error) {
    failed($("problem"))(error);
  }
}

function mark({ line, column, length, text }) {
  const lines = $("text").value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  const indent = Math.max(0, (lines[line - 1] || "").indexOf(text));
  const start = before + indent + Number(column);
  $("text").focus();
  $("text").setSelectionRange(start, start + Number(length));
}

function take(found) {
  version = found.version;
  $("type").textContent = found.type || "";
  $("work").hidden = !found.view;
  count(found.work);
  rows = found.rows === undefined ? null : boxed(found.rows);
  if (!found.view) return $("answer").replaceChildren();
  if (rows === null) return drawXml(found.xml);
  draw();
}

function count(work) {
  if (!work) return;
  $("done").textContent = work.done.toLocaleString("en");
  $("anew").textContent = work.anew.toLocaleString("en");
}

// -- the answer as nested rows

// Scalars inside bags are put into boxes, so that each has an identity of its own to light up.
function boxed(value, inBag = false) {
  if (Array.isArray(value)) return value.map((each) => boxed(each, true));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, boxed(part)]));
  }
  return inBag ? { "": value } : value;
}

const isBox = (value) => Object.keys(value).length === 1 && "" in value;

function patch(operations) {
  for (const { op, path, value } of operations) {
    if (path === "") { rows = boxed(value); continue; }
    const steps = path.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = steps.pop();
    const parent = steps.reduce((found, step) => found[step], rows);
    if (Array.isArray(parent)) change(parent, op, last === "-" ? parent.length : Number(last), value);
    else {
      parent[last] = boxed(value);
      if (!cells.has(parent)) cells.set(parent, new Set());
      cells.get(parent).add(last);
    }
  }
}

function change(bag, op, at, value) {
  if (op === "remove") { bag.splice(at, 1); lost.add(bag); return; }
  const made = boxed(value, true);
  bag.splice(at, op === "replace" ? 1 : 0, made);
  lit.add(made);
}

function draw() {
  $("answer").replaceChildren(bagNode(rows));
  lit = new WeakSet(); lost = new WeakSet(); cells = new WeakMap();
}

const glow = (value) => (lit.has(value) ? "lit" : lost.has(value) ? "lost" : "");

function bagNode(bag) {
  const isRecords = bag.length > 0 && !bag.some((each) => Array.isArray(each) || isBox(each));
  if (!isRecords) {
    const parts = bag.slice(0, MOST).map((each) => node("span", { class: glow(each) },
      Array.isArray(each) ? bagNode(each) : scalar(each[""])));
    return node("span", { class: `bag ${glow(bag)}` }, ...(parts.length ? parts : [node("span", { class: "soft" }, "empty")]));
  }
  const names = Object.keys(bag[0]);
  const head = node("tr", {}, ...names.map((name) => node("th", {}, name)));
  const body = bag.slice(0, MOST).map((record) => node("tr", { class: glow(record) },
    ...names.map((name) => cell(record, name))));
  if (bag.length > MOST) body.push(node("tr", {}, node("td", { colspan: names.length, class: "soft" }, `… ${bag.length - MOST} more`)));
  return node("table", { class: glow(bag) }, node("thead", {}, head), node("tbody", {}, ...body));
}

function cell(record, name) {
  const value = record[name];
  const isLit = cells.has(record) && cells.get(record).has(name);
  const shown = Array.isArray(value) ? bagNode(value)
    : value !== null && typeof value === "object" ? bagNode([value]) : scalar(value);
  return node("td", { class: isLit ? "lit" : "" }, shown);
}

const scalar = (value) => (value === null ? node("span", { class: "soft" }, "null") : String(value));

// -- the answer as markup

let markup = [];

function drawXml(text) {
  const parsed = new DOMParser().parseFromString(`<answer>${text}</answer>`, "application/xml");
  const before = markup;
  markup = [];
  const known = new Set(before);
  const made = [...parsed.documentElement.childNodes].map((each) => xmlNode(each, "", known, before.length > 0));
  $("answer").replaceChildren(node("div", { class: "markup" }, ...made));
}

// A node lights up where none with this text stood at this place before.
function xmlNode(found, path, known, light) {
  const own = `${path}/${found.nodeName}`;
  if (found.nodeType !== Node.ELEMENT_NODE) {
    const said = `${own}:${found.nodeValue}`;
    markup.push(said);
    return node("span", { class: light && !known.has(said) ? "lit" : "" }, found.nodeValue);
  }
  const attributes = [...found.attributes].map((each) => ` ${each.name}="${each.value}"`).join("");
  const head = `${own}${attributes}`;
  markup.push(head);
  const isNew = light && !known.has(head);
  const inner = [...found.childNodes].map((each) => xmlNode(each, head, known, light && !isNew));
  const isText = [...found.childNodes].every((each) => each.nodeType !== Node.ELEMENT_NODE);
  const open = [node("span", { class: "name" }, `<${found.nodeName}`), node("span", { class: "attribute" }, attributes),
    node("span", { class: "name" }, inner.length ? ">" : "/>")];
  const close = inner.length ? [node("span", { class: "name" }, `</${found.nodeName}>`)] : [];
  return node("div", { class: `node ${isNew ? "lit" : ""}` }, ...open,
    ...(isText ? inner : [node("div", {}, ...inner)]), ...close);
}

// -- tables, and changing them

function drawTables() {
  const shown = state.tables.map(tableNode);
  shown.push(...state.documents.map(documentNode));
  $("tables").replaceChildren(...shown);
}

function tableNode(table) {
  const keyed = table.key.length > 0;
  const head = node("tr", {}, ...table.columns.map((column) => node("th", { title: column.type }, column.name,
    ...(table.key.includes(column.name) ? [" ", node("span", { class: "key", title: "the key: no two rows have one value here" }, "key")] : []))), node("th", {}));
  const body = table.rows.map((row) => node("tr", {}, ...table.columns.map((column) => tableCell(table, row, column, keyed)),
    node("td", {}, node("button", { class: "small", title: "delete the row", "aria-label": "delete the row",
      onclick: () => send({ what: "delete", table: table.name, key: keyOf(table, row), row }) }, "✕"))));
  if (table.count > table.rows.length) {
    body.push(node("tr", {}, node("td", { class: "soft", colspan: table.columns.length + 1 }, `… ${table.count - table.rows.length} more rows`)));
  }
  const sample = table.rows.length ? { ...table.rows[table.rows.length - 1] } : Object.fromEntries(table.columns.map((c) => [c.name, null]));
  for (const name of table.key) if (typeof sample[name] === "number") sample[name] = Math.max(...table.rows.map((row) => row[name])) + 1;
  const input = node("input", { class: "json", "aria-label": `a new row of ${table.name}`, value: JSON.stringify(sample) });
  const insert = () => parsed(input.value, (row) => send({ what: "insert", table: table.name, row }));
  return node("div", {}, node("p", {}, node("b", {}, table.name), node("span", { class: "soft" }, ` ${table.count.toLocaleString("en")} rows`)),
    node("div", { class: "table-of-rows" }, node("table", {}, node("thead", {}, head), node("tbody", {}, ...body))),
    node("div", { class: "rows-form" }, input, node("button", { onclick: insert }, "Insert")));
}

const keyOf = (table, row) => (table.key.length === 1 ? row[table.key[0]] : table.key.map((name) => row[name]));

function tableCell(table, row, column, keyed) {
  const value = row[column.name];
  if (table.bags.includes(column.name) && keyed) return node("td", {}, ...bagCell(table, row, column.name, value));
  const isFixed = !keyed || table.key.includes(column.name);
  if (table.maps.includes(column.name) && !isFixed) return mapCell(table, row, column.name, value);
  if (value !== null && typeof value === "object") return node("td", {}, JSON.stringify(value));
  const shown = node("td", isFixed ? {} : { contenteditable: "plaintext-only", title: "change it, then Enter" }, value === null ? "null" : String(value));
  if (!isFixed) {
    const commit = () => {
      const text = shown.textContent.trim();
      if (text === (value === null ? "null" : String(value))) return;
      send({ what: "update", table: table.name, key: keyOf(table, row), set: { [column.name]: typed(text, column.type) } });
    };
    shown.addEventListener("blur", commit);
    shown.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); shown.blur(); } });
  }
  return shown;
}

// A map is changed as a whole.
function mapCell(table, row, name, value) {
  const before = JSON.stringify(value);
  const input = node("input", { class: "json map", "aria-label": `the map ${name}`, title: "change it, then Enter", value: before });
  const commit = () => input.value.trim() === before || parsed(input.value, (made) => send({ what: "update", table: table.name, key: keyOf(table, row), set: { [name]: made } }));
  input.addEventListener("blur", commit);
  input.addEventListener("keydown", (event) => event.key === "Enter" && input.blur());
  return node("td", {}, input);
}

function typed(text, type) {
  if (text === "null") return null;
  if (/^(int|float)\b/.test(type) && text !== "" && !Number.isNaN(Number(text))) return Number(text);
  if (/^bool\b/.test(type)) return text === "true" ? true : text === "false" ? false : text;
  return text;
}

// The elements of a bag, and of the bags in these: ``inside`` are the elements on the way to it.
function bagCell(table, row, bag, elements, inside = []) {
  const key = keyOf(table, row);
  const shown = elements.map((element) => {
    const bags = element !== null && typeof element === "object" ? Object.keys(element).filter((name) => Array.isArray(element[name])) : [];
    const within = bags.flatMap((name) => bagCell(table, row, name, element[name], [...inside, { bag, element }]));
    return node("span", { class: "element" }, brief(element), ...within,
      node("button", { class: "small", title: "delete the element", "aria-label": "delete the element",
        onclick: () => send({ what: "delete element", table: table.name, key, inside, bag, element }) }, "✕"));
  });
  const add = node("button", { class: "small more", title: "insert an element", "aria-label": "insert an element", onclick: () => {
    const rows = state.tables.find((each) => each.name === table.name).rows;
    const path = [...inside.map((step) => step.bag), bag];
    const sample = elements[elements.length - 1] ?? path.reduce((found, name) => found.flatMap((each) => each[name]), rows)[0] ?? {};
    const input = node("input", { class: "json", value: JSON.stringify(sample) });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") parsed(input.value, (element) => send({ what: "insert element", table: table.name, key, inside, bag, element }));
      if (event.key === "Escape") drawTables();
    });
    add.replaceWith(input);
    input.focus();
  } }, "+");
  return [...shown, add];
}

const brief = (element) => (element !== null && typeof element === "object"
  ? Object.values(element).filter((part) => !Array.isArray(part))
    .map((part) => (typeof part === "object" ? JSON.stringify(part) : part)).join(", ") : String(element));

function documentNode(found) {
  const input = node("input", { class: "json", "aria-label": "an XQuery Update", value: `delete node doc("${found.name}")//*[last()]` });
  const run = () => send({ what: "xquery", text: input.value });
  return node("div", {}, node("p", {}, node("b", {}, found.name)),
    node("div", { class: "table-of-rows" }, node("pre", {}, found.xml)),
    node("div", { class: "rows-form" }, input, node("button", { onclick: run }, "Update")));
}

function parsed(text, then) {
  try {
    then(JSON.parse(text));
  } catch (error) {
    show({ what: `not JSON: ${error.message}`, hint: 'a row is an object, as {"id": 1, "name": "tea"}' }, $("refused"));
  }
}

async function send(change) {
  show(null, $("refused"));
  try {
    await ask("change", change);
  } catch (error) {
    failed($("refused"))(error);
    drawTables();
  }
}

async function step() {
  try {
    await ask("step", {});
  } catch (error) {
    stop();
    failed($("refused"))(error);
  }
}

function stop() {
  clearInterval(timer);
  timer = null;
  $("stream").setAttribute("aria-pressed", "false");
}

function stream() {
  if (timer !== null) return stop();
  timer = setInterval(step, 900);
  $("stream").setAttribute("aria-pressed", "true");
  step();
}

// -- what the server tells

async function heard(event) {
  if (event.kind === "opened") return begin();
  state = { ...state, ...(await ask("tables")) };
  if (!document.activeElement?.closest?.(".table-of-rows")) drawTables();
  if (event.version <= version) return;
  version = event.version;
  count(event.work);
  if (event.xml) return drawXml((await ask("answer")).xml);
  if (rows !== null && event.patch) { patch(event.patch); draw(); }
}

function choose(text) {
  $("text").value = text.text;
  $("language").value = text.language;
}

async function begin() {
  stop();
  state = await ask("state");
  $("database").replaceChildren(...state.databases.map((name) => node("option", { value: name, selected: name === state.database }, name)));
  $("text-sample").replaceChildren(...state.texts.map((text, at) => node("option", { value: at }, text.title)));
  $("text-sample").hidden = state.texts.length === 0;
  $("step").disabled = $("stream").disabled = !state.steps;
  show(null, $("problem")); show(null, $("refused"));
  markup = [];
  $("explained").replaceChildren();
  drawTables();
  if (state.texts.length) { choose(state.texts[0]); await define(); } else take({ view: false, version: state.version });
}

// Events come in order, and each is taken when the one before is drawn.
let before = Promise.resolve();
addEventListener("DOMContentLoaded", () => {
  $("define").addEventListener("click", define);
  $("text").addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) define(); });
  $("step").addEventListener("click", step);
  $("stream").addEventListener("click", stream);
  $("database").addEventListener("change", () => ask("open", { name: $("database").value }).catch(failed($("problem"))));
  $("text-sample").addEventListener("change", () => { choose(state.texts[$("text-sample").value]); define(); });
  const events = new EventSource("events");
  events.addEventListener("message", (message) => { before = before.then(() => heard(JSON.parse(message.data))).catch(failed($("refused"))); });
  begin().catch(failed($("problem")));
});
