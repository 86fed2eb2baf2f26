/**
 * Nodes, and how a page that is drawn becomes the next one. Text is only ever text: nothing here reads HTML.
 */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. `on…` attributes are listeners, `style` is an object of properties; null and false are left out. */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Text that stays on one line where there is room for it. */
export const whole = (text) => h("span", { class: "whole" }, text);

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) listen(element, name, value);
    else if (name === "style") for (const [property, v] of Object.entries(value)) element.style.setProperty(property, v);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false && c !== ""));
  return element;
}

function listen(element, name, listener) {
  element[name] = listener;
  (element.listeners ??= new Set()).add(name);
}

/**
 * Makes `old` look like `next`, which is used up. Nodes that stay are kept: with them focus, what was typed, and the
 * place from which a bar moves. Children with the same `data-key` are the same.
 */
export function patch(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  patchAttributes(old, next);
  for (const name of old.listeners ?? []) if (!next.listeners?.has(name)) old[name] = null;
  for (const name of next.listeners ?? []) listen(old, name, next[name]);
  patchChildren(old, next);
}

function patchAttributes(old, next) {
  for (const { name } of [...old.attributes]) {
    if (!next.hasAttribute(name) && !kept(old, name)) old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  if (old.style.cssText !== next.style.cssText) old.style.cssText = next.style.cssText;
}

/** What the reader did, which no answer takes back; and styles, which the policy of the page lets no attribute set. */
function kept(element, name) {
  return name === "style" || (name === "open" && element.nodeName === "DETAILS");
}

const key = (node) => node.dataset?.key;
const alike = (a, b) => a.nodeName === b.nodeName && key(a) === key(b);

function patchChildren(old, next) {
  const wanted = new Set([...next.childNodes].map(key).filter(Boolean));
  for (const child of [...old.childNodes]) if (key(child) && !wanted.has(key(child))) child.remove();
  const keyed = new Map([...old.childNodes].filter(key).map((child) => [key(child), child]));
  let at = old.firstChild;
  for (const want of [...next.childNodes]) {
    const same = key(want) ? keyed.get(key(want)) : at;
    if (!same || !alike(same, want)) {
      old.insertBefore(want, at);
      continue;
    }
    if (same === at) at = at.nextSibling;
    else old.insertBefore(same, at);
    patch(same, want);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
