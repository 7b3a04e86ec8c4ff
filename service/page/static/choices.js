/** What to ask for: how many, filters, deadline, which retrievers, which variant. */

import { byId, debounced, h, replace } from "./dom.js";
import { RETRIEVERS, retrieverName } from "./words.js";

const SHOWN_AT_FIRST = 6;

export function createChoices({ onChange }) {
  const shown = new Set();
  let offered = [];

  function drawShown() {
    replace(byId("shown"), offered.map((name) => {
      const toggle = ({ target }) => { target.checked ? shown.add(name) : shown.delete(name); countShown(); onChange(); };
      return h("label", { class: "check" }, h("input", { type: "checkbox", checked: shown.has(name), onchange: toggle }), retrieverName(name));
    }));
    countShown();
  }

  function countShown() {
    byId("shown-count").textContent = ` (${shown.size} of ${offered.length})`;
  }

  function offerVariants(names) {
    const control = names.length
      ? h("select", { id: "variant" }, h("option", { value: "" }, "as assigned"), names.map(({ value, text }) => h("option", { value }, text)))
      : h("input", { id: "variant", type: "text", autocomplete: "off", placeholder: "as assigned" });
    replace(byId("variant-control"), control);
  }

  offerVariants([]);
  const changed = debounced(onChange, 250);
  byId("choices").addEventListener("input", (event) => !byId("shown").contains(event.target) && changed());
  byId("choices").addEventListener("submit", (event) => event.preventDefault());

  return {
    /** The retrievers that can be asked, those of the loaded bundle first when it says so. */
    offer(served) {
      const names = Object.keys(RETRIEVERS).filter((name) => name !== "auto");
      offered = served ? [...served] : names;
      const liked = served ? names.filter((name) => offered.includes(name)) : names;
      shown.clear();
      liked.slice(0, served ? SHOWN_AT_FIRST : names.length).forEach((name) => shown.add(name));
      if (offered.includes("popular")) shown.add("popular");
      drawShown();
    },
    offerVariants,
    names: () => ["auto", ...offered.filter((name) => shown.has(name))],
    variant: () => byId("variant").value.trim(),
    query,
    filterText,
  };
}

function query() {
  const filter = filters();
  const deadline = byId("deadline").value;
  return {
    k: Number(byId("k").value),
    exclude_seen: byId("exclude-seen").checked,
    ...(Object.keys(filter).length ? { filter } : {}),
    ...(deadline ? { deadline_ms: Number(deadline) } : {}),
  };
}

function filters() {
  const price = { gte: amount("price-gte"), lte: amount("price-lte") };
  const chosen = { brand: words("brand"), category: words("category"), price: JSON.stringify(price) === "{}" ? undefined : price };
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined));
}

function words(id) {
  const text = byId(id).value.trim();
  return text ? [text] : undefined;
}

function amount(id) {
  const { valueAsNumber } = byId(id);
  return Number.isFinite(valueAsNumber) ? valueAsNumber : undefined;
}

/** The filters in words, and their number beside the word "Filters". */
function filterText() {
  const { brand, category, price } = filters();
  const range = price && `price ${price.gte ?? "any"} to ${price.lte ?? "any"}`;
  const parts = [brand && `brand ${brand[0]}`, category && `category ${category[0]}`, range].filter(Boolean);
  byId("filter-count").textContent = parts.length ? ` (${parts.length})` : "";
  return parts.join(", ");
}
