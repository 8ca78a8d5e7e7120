// Builds elements. Names and texts become text nodes or attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes, listeners (`onclick` …) and children; null ones are left out. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same as `el`, for SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Replaces the children of a node. */
export function put(node, ...children) {
  node.replaceChildren(...children.flat().filter((one) => one !== null && one !== undefined));
  return node;
}

/** The nodes of a text in which backticks enclose code. */
export function prose(text) {
  return text.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));
}

/** Sets a text only if it differs, so that screen readers don't repeat it. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
  return node;
}

/**
 * Gives a node one child for each item. Existing children are kept by their keys, so that the
 * focus and what was unfolded stay.
 */
export function keyed(node, items, keyOf, make, update) {
  const known = new Map([...node.children].map((child) => [child.dataset.key, child]));
  let before = null;
  for (const item of items) {
    const key = String(keyOf(item));
    let child = known.get(key);
    if (child) {
      known.delete(key);
    } else {
      child = make(item);
      child.dataset.key = key;
    }
    update(child, item);
    const place = before ? before.nextSibling : node.firstChild;
    if (place !== child) node.insertBefore(child, place);
    before = child;
  }
  for (const child of known.values()) child.remove();
}

/** A section with a heading. */
export function card(title, name, ...children) {
  const id = `${name}-title`;
  return el("section", { class: `card ${name}`, "aria-labelledby": id },
    el("h2", { id }, title), ...children);
}

/** A table of columns and rows of cells. */
export function table(label, columns, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", {},
      el("thead", {}, el("tr", {}, ...columns.map((one) => el("th", { scope: "col" }, one)))),
      el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((cell) =>
        cell instanceof Node && cell.nodeName === "TH" ? cell : el("td", {}, cell)))))));
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, "");
    else node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((one) => one !== null && one !== undefined));
  return node;
}
