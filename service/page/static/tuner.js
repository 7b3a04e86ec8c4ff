/** Sliders for DR + prior: debounced, the latest answer wins, rows glide to their new places. */

import { byId, debounced, h, latest } from "./dom.js";
import { itemRow, replaceRows } from "./list-item.js";
import { retrieverName, titleOf } from "./words.js";

const WEIGHTS = ["popularity", "rating", "brand"];
const PATIENCE_MS = 10_000;
const DEPTH = 200;
const SHOWN = 10;
const DEFAULTS = { alpha: 0.5, "w-popularity": 0.25, "w-rating": 0.25, "w-brand": 0.5, pool: 200 };
const number = (id) => Number(byId(id).value);

export function createTuner({ client, products, session, choices, onView }) {
  const run = latest();
  let served = true;
  let unmoved = { key: "", ranks: new Map() };

  const query = () => {
    const { k: _, ...chosen } = choices.query();
    return { ...session.query(), ...chosen, ...(session.state.hidden.size ? { exclude: [...session.state.hidden] } : {}), fallback: false };
  };
  const ask = (value, k, signal) => client.recommend({ ...query(), k, value }, { retriever: "dr-prior", signal, timeoutMs: PATIENCE_MS });

  /** Ranks by similarity alone, so that each row can say how far value moved it. */
  async function ranksBySimilarity(value, signal) {
    const key = JSON.stringify([query(), session.state.history, value.pool]);
    if (key !== unmoved.key) {
      const { items } = await ask({ ...value, alpha: 0 }, DEPTH, signal);
      unmoved = { key, ranks: new Map(items.map((item) => [item.item_id, item.rank])) };
    }
    return unmoved.ranks;
  }

  function draw(answer, ranks) {
    const rows = answer.items.map((entry) => itemRow(entry, products.get(entry.item_id), (id) => onView(id, answer.request_id), moved(entry, ranks)));
    gliding(byId("tuned"), () => replaceRows(byId("tuned"), rows));
    const [first] = answer.items;
    say(first ? `First now: ${titleOf(products.get(first.item_id))}` : "Nothing is left that may be returned.");
  }

  async function refresh() {
    showValues();
    if (!served) return;
    if (session.state.history.length === 0) return empty("Open a product first: without a history there is nothing to compare with.");
    const value = values();
    if (!value) return say("Give at least one weight more than zero.");
    byId("tuned").setAttribute("aria-busy", "true");
    try {
      await run(async (signal, isLatest) => {
        const [answer, ranks] = await Promise.all([ask(value, SHOWN, signal), ranksBySimilarity(value, signal)]);
        await products.load(answer.items.map((item) => item.item_id), signal);
        if (isLatest()) draw(answer, ranks);
      });
    } catch (error) {
      empty(error.message);
    }
    byId("tuned").removeAttribute("aria-busy");
  }

  function set(changes) {
    for (const [id, value] of Object.entries(changes)) byId(id).value = value;
    refresh();
  }

  byId("sliders").addEventListener("input", showValues);
  byId("sliders").addEventListener("input", debounced(refresh, 120));
  byId("sliders").addEventListener("submit", (event) => event.preventDefault());
  byId("defaults").addEventListener("click", () => set(DEFAULTS));
  byId("only-similarity").addEventListener("click", () => set({ alpha: 0 }));
  byId("only-value").addEventListener("click", () => set({ alpha: 1 }));
  return {
    refresh,
    offer(retrievers) {
      served = !retrievers || retrievers.includes("dr-prior");
      for (const control of byId("sliders").querySelectorAll("input, button")) control.disabled = !served;
      if (!served) empty(`The loaded bundle serves no ${retrieverName("dr-prior")}: it holds no trained network.`);
    },
  };
}

/** The request's `value`, or null when no weight is above zero. */
function values() {
  const weights = Object.fromEntries(WEIGHTS.map((name) => [name, number(`w-${name}`)]));
  const sum = WEIGHTS.reduce((total, name) => total + weights[name], 0);
  return sum > 0 ? { alpha: number("alpha"), weights, pool: number("pool") } : null;
}

function showValues() {
  const sum = WEIGHTS.reduce((total, name) => total + number(`w-${name}`), 0);
  byId("alpha-out").textContent = number("alpha").toFixed(2);
  byId("pool-out").textContent = String(number("pool"));
  for (const name of WEIGHTS) {
    const share = sum > 0 ? `${Math.round((100 * number(`w-${name}`)) / sum)} %` : "0 %";
    byId(`w-${name}-out`).textContent = share;
    byId(`w-${name}`).setAttribute("aria-valuetext", share);
  }
}

function moved({ item_id: id, rank }, ranks) {
  const by = ranks.has(id) ? ranks.get(id) - rank : null;
  if (by === null) return h("span", { class: "move up" }, "new");
  if (by === 0) return h("span", { class: "move" }, "=", h("span", { class: "gone" }, " not moved"));
  const word = by > 0 ? "up" : "down";
  return h("span", { class: `move ${word}` }, h("span", { "aria-hidden": "true" }, `${by > 0 ? "▲" : "▼"} ${Math.abs(by)}`), h("span", { class: "gone" }, `${word} ${Math.abs(by)}`));
}

/** Lets rows slide from where they were, unless the reader asked for less motion. */
function gliding(list, change) {
  const tops = () => new Map([...list.children].map((row) => [row.dataset.id, row.offsetTop]));
  const before = tops();
  change();
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  for (const row of list.children) {
    const from = before.get(row.dataset.id);
    const frames = from === undefined ? [{ opacity: 0 }, { opacity: 1 }] : [{ transform: `translateY(${from - row.offsetTop}px)` }, { transform: "none" }];
    row.animate(frames, { duration: 240, easing: "ease-out" });
  }
}

function say(text) {
  byId("tuner-note").textContent = text;
}

function empty(text) {
  replaceRows(byId("tuned"), []);
  say(text);
}
