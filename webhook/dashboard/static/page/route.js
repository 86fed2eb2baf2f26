/** Addresses: `#/queues/research?since=24h` names a view, its path and its settings. Every state has one. */

/** The route that the address bar shows: `{view, path, query}`. */
export function current() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").filter(Boolean).map(decoded);
  return { view: view ?? "cluster", path: rest, query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a view; settings that are empty are left out. */
export function address(view, path = [], query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const settings = new URLSearchParams(given).toString();
  return `#/${[view, ...path].map(encodeURIComponent).join("/")}${settings && `?${settings}`}`;
}

/** The same route with some settings changed. */
export function withQuery(route, changes) {
  return address(route.view, route.path, { ...route.query, ...changes });
}

export function go(to) {
  location.hash = to.slice(1);
}

/** Changes the address without a step in the reader's history, for what changes with each key. */
export function stay(to) {
  history.replaceState(null, "", to);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand, with a lone %
  }
}
