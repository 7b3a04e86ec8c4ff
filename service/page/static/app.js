/** Puts the parts of the page together. It talks to the public API of the service it came from, and to nothing else. */

import { announce, byId, h, replace } from "./dom.js";
import { createChoices } from "./choices.js";
import { createLists } from "./lists.js";
import { createProduct } from "./product.js";
import { createProducts } from "./products.js";
import { createSession } from "./session.js";
import { createShop } from "./shop.js";
import { createClient } from "./shortlist-client.js";
import { createTuner } from "./tuner.js";
import { count, retrieverName, titleOf } from "./words.js";

const BASE = new URL(".", document.baseURI).href;
let client = connect(stored("key"));
/** Forwards to the client of the moment: giving a key replaces it. */
const api = new Proxy({}, { get: (_, name) => client[name] });

const products = createProducts(api);
const choices = createChoices({ onChange: () => refresh("Choices changed") });
const session = createSession({ client: api, products, onInspect: (id) => product.inspect(id), onChange: refresh, onTrouble: trouble });
const product = createProduct({ client: api, products, onView: (id) => view(id, null), onHide: (id) => session.hide(id), onTrouble: trouble });
const lists = createLists({ client: api, products, session, choices, onView: view, onAnswer: () => {} });
const tuner = createTuner({ client: api, products, session, choices, onView: view });
const shop = createShop({ client: api, products, onView: view, onTrouble: trouble });

function connect(key) {
  return createClient({ baseUrl: BASE, timeoutMs: 15_000, retries: 1, apiKey: key ?? undefined });
}

function stored(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

async function view(id, requestId) {
  try {
    await session.view(id, requestId);
  } catch (error) {
    trouble(error, "The view could not be recorded");
  }
  announce(`Viewed ${titleOf(products.get(id))}.`);
  product.inspect(id, { focus: false });
  await refresh(`Viewed ${titleOf(products.get(id))}`);
}

async function refresh(said) {
  await Promise.all([lists.refresh(said), tuner.refresh()]);
}

async function readiness() {
  const facts = await api.get("readyz");
  const parts = [facts.bundle && `Bundle ${facts.bundle}`, facts.n_items && count(facts.n_items, "item"), facts.retrievers && count(facts.retrievers.length, "retriever")];
  byId("status").textContent = parts.filter(Boolean).join(" · ") || "Ready";
  byId("status").dataset.state = "ready";
  return facts.retrievers;
}

/** The variants that may be forced. */
async function variants() {
  const { experiments } = await api.get("experiments").catch(() => ({ experiments: [] }));
  const found = experiments.flatMap(({ name, variants: all }) =>
    all.map((one) => ({ value: one.name, text: `${one.name}${one.retriever ? ` (${retrieverName(one.retriever)})` : ""}, ${name}` })));
  choices.offerVariants(found);
}

async function start() {
  notice(null);
  try {
    const browsed = shop.browse();
    const retrievers = await readiness();
    choices.offer(retrievers);
    tuner.offer(retrievers);
    await Promise.all([variants(), session.restore()]);
    await Promise.all([browsed, refresh()]);
    const last = session.state.history.at(-1);
    if (last !== undefined) await product.inspect(last, { focus: false });
    document.documentElement.dataset.ready = "true";
  } catch (error) {
    byId("status").textContent = "Not ready";
    byId("status").dataset.state = "down";
    trouble(error, "The service is not ready");
  }
}

/** Says what went wrong and what can be done about it. */
function trouble(error, what) {
  if (error.name === "AbortError") return;
  if (error.status === 401 || error.status === 403) return askForKey(error.message);
  notice(h("p", {}, `${what}: ${error.message}.`.replace("..", ".")), h("button", { type: "button", onclick: start }, "Try again"));
}

function askForKey(why) {
  const field = h("input", { id: "key", type: "password", autocomplete: "off", required: true });
  const use = (event) => {
    event.preventDefault();
    try {
      sessionStorage.setItem("key", field.value);
    } catch {
      // Without storage the key lasts as long as the page.
    }
    client = connect(field.value);
    start();
  };
  notice(h("form", { class: "key", onsubmit: use }, h("p", {}, why), h("label", { for: "key" }, "API key"), field, h("button", {}, "Use it")));
}

function notice(...parts) {
  byId("notice").hidden = !parts[0];
  replace(byId("notice"), ...parts);
}

start();
