/** Building blocks of the page. Text goes in as text nodes, never as markup. */

const SVG = "http://www.w3.org/2000/svg";

/** h("button", { class: "x", onclick: f }, "text", node): an element; null and false children are left out. */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
}

/** Says something to screen readers without moving the focus. */
export function announce(text) {
  byId("announcer").textContent = text;
}

/** Calls `action` once, `ms` after the last call. */
export function debounced(action, ms) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), ms);
  };
}

/** Runs one task at a time: a new one aborts the one before it, whose late answer is dropped. */
export function latest() {
  let current = null;
  return async (task) => {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      return await task(mine.signal, () => current === mine);
    } catch (error) {
      if (current === mine) throw error;
      return undefined;
    }
  };
}
