/** Who is shopping and what they viewed: kept by the service, or in the page when its history store is away. */

import { byId, h, replace } from "./dom.js";
import { count, titleOf } from "./words.js";

const STORE_IS_AWAY = new Set([0, 404, 405, 500, 501, 502, 503, 504]);
const NOTES = {
  store: (id) => `Shopper ${id}. Views are sent to POST /events and the service reads them back as history.`,
  page: (id) => `Shopper ${id}. The service’s history store does not answer, so this page keeps the history and sends it with each request.`,
};

export function createSession({ client, products, onInspect, onChange, onTrouble }) {
  const state = { shopper: recall("shopper", null) ?? fresh(), history: [], hidden: new Set(), place: "store" };

  async function away(error) {
    if (!STORE_IS_AWAY.has(error.status)) throw error;
    state.place = "page";
  }

  /** Whoever may send events may not always read histories: the page then shows what it saw itself. */
  async function stored() {
    try {
      return idsOf(await client.history(state.shopper));
    } catch (error) {
      if (error.status !== 403) await away(error);
      return recall("history", {})[state.shopper] ?? [];
    }
  }

  async function draw() {
    await products.load([...state.history, ...state.hidden]).catch(() => {});
    byId("session-note").textContent = NOTES[state.place](state.shopper);
    const empty = h("li", { class: "quiet" }, "Nothing viewed yet. Open a product and it appears here.");
    replace(byId("history"), state.history.length ? state.history.map((id) => chip(id)) : empty);
    byId("history").scrollLeft = byId("history").scrollWidth;
    byId("start-over").disabled = state.history.length === 0;
    byId("hidden-box").hidden = state.hidden.size === 0;
    replace(byId("hidden"), [...state.hidden].map(shownAgain));
  }

  function chip(id) {
    const title = titleOf(products.get(id));
    return h("li", {}, h("button", { type: "button", dir: "auto", title, onclick: () => onInspect(id) }, title));
  }

  function shownAgain(id) {
    const title = titleOf(products.get(id));
    const show = () => { state.hidden.delete(id); byId("session-title").focus(); onChange(); draw(); };
    return h("li", {}, h("button", { type: "button", dir: "auto", title: `Allow ${title} again`, onclick: show }, `${title} ×`));
  }

  async function view(id, requestId) {
    state.history.push(id);
    keep("history", { [state.shopper]: state.history });
    const event = { user_id: state.shopper, item_id: id, event: "view", ...(requestId ? { request_id: requestId } : {}) };
    if (state.place === "store") await client.sendEvents(event).catch(away);
    await draw();
  }

  async function restore() {
    state.history = await stored();
    await draw();
  }

  async function clear() {
    try {
      if (state.place === "store") await client.forget(state.shopper);
    } catch (error) {
      if (error.status === 403) return renew("This page may not erase a history, so here is a new shopper");
      await away(error);
    }
    state.history = [];
    keep("history", {});
    byId("session-title").focus();
    await draw();
    return onChange(`History of ${state.shopper} cleared`);
  }

  async function renew(said) {
    Object.assign(state, { shopper: fresh(), history: [], place: "store" });
    state.hidden.clear();
    byId("session-title").focus();
    await restore();
    return onChange(said);
  }

  byId("start-over").addEventListener("click", () => clear().catch((error) => onTrouble(error, "The history could not be cleared")));
  byId("new-shopper").addEventListener("click", () => renew("A new shopper with no history").catch((error) => onTrouble(error, "The history could not be read")));
  return {
    state, view, restore,
    hide(id) { state.hidden.add(id); onChange(`${count(state.hidden.size, "product")} left out by hand`); return draw(); },
    /** Whose history: by name, or spelt out when the page keeps it. */
    query: () => ({ user_id: state.shopper, ...(state.place === "page" ? { history: state.history.slice(-200) } : {}) }),
  };
}

/** History comes as ids or as events; both oldest first. */
function idsOf(answer) {
  const list = answer.history ?? answer.items ?? answer.events ?? [];
  return list.map((entry) => (typeof entry === "string" ? entry : entry.item_id));
}

function recall(name, otherwise) {
  try {
    return JSON.parse(sessionStorage.getItem(name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Private windows may refuse: what is kept then lasts as long as the page. */
function keep(name, value) {
  try {
    sessionStorage.setItem(name, JSON.stringify(value));
  } catch {
    return;
  }
}

function fresh() {
  const name = `visitor-${Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) => byte.toString(36)).join("")}`;
  keep("shopper", name);
  return name;
}
