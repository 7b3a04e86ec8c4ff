/** The open product: its facts and its neighbourhood, as a picture and as a table. */

import { byId, h, latest, replace } from "./dom.js";
import { picture } from "./graph.js";
import { tile } from "./shop.js";
import { brandOf, count, priceText, ratingText, titleOf } from "./words.js";

const EDGES = 200;
const DRAWN = 12;
const FOLLOWED = 6;
const FOLLOWERS = 8;
const CAME_FROM = 6;

export function createProduct({ client, products, onView, onHide, onTrouble }) {
  const run = latest();

  /** What shoppers did after the strongest neighbours; the picture does without it when it cannot be had. */
  async function followers(neighbours, signal) {
    const pairs = await Promise.all(neighbours.slice(0, FOLLOWED).map(async ({ item_id: id }) =>
      [id, await client.neighbours(id, { limit: FOLLOWERS, signal }).then((answer) => answer.neighbours, () => [])]));
    return new Map(pairs);
  }

  async function load(id, signal) {
    const [, answer] = await Promise.all([products.details(id, signal), client.neighbours(id, { limit: EDGES, signal })]);
    const neighbours = answer.neighbours.filter((one) => one.item_id !== id && (one.hop ?? 1) === 1);
    const drawn = neighbours.slice(0, DRAWN);
    const next = await followers(drawn, signal);
    await products.load([...drawn, ...[...next.values()].flat()].map((one) => one.item_id), signal);
    const incoming = (answer.incoming ?? []).filter((one) => one.item_id !== id).sort((a, b) => b.count - a.count);
    await products.load(incoming.slice(0, CAME_FROM).map((one) => one.item_id), signal);
    return { neighbours, drawn, next, incoming, ringSizes: answer.ring_sizes };
  }

  async function inspect(id, { focus = true } = {}) {
    byId("product").setAttribute("aria-busy", "true");
    try {
      await run(async (signal, isLatest) => {
        const around = await load(id, signal);
        if (!isLatest()) return;
        draw(id, around);
        if (focus) show();
      });
    } catch (error) {
      onTrouble(error, "The product could not be read");
    }
    byId("product").removeAttribute("aria-busy");
  }

  function draw(id, around) {
    const product = products.get(id);
    const buttons = h("div", { class: "actions" },
      h("button", { type: "button", onclick: () => onView(id) }, "View again"),
      h("button", { type: "button", onclick: () => onHide(id) }, "Leave out of the lists"));
    const hadFocus = byId("product-body").contains(document.activeElement);
    replace(byId("product-body"), facts(product, buttons), ...[neighbourhood(product, around)].flat());
    if (hadFocus) byId("product").focus({ preventScroll: true });
  }

  function neighbourhood(product, { neighbours, drawn, next, incoming, ringSizes }) {
    const cameFrom = incoming.slice(0, CAME_FROM);
    const open = (id) => inspect(id);
    const before = cameFrom.length > 0 && table("Where shoppers came from", cameFrom, products, open);
    if (!drawn.length) return [h("p", { class: "quiet" }, "Nobody went from this product to another one, so the transition graph has no edge out of it."), before];
    const label = `Transition graph around ${titleOf(product)}: ${count(drawn.length, "next product")}. The table after it lists them.`;
    const graph = picture({ label, neighbours: drawn, next, products, onInspect: open });
    const total = Math.max(neighbours.length, ringSizes?.[0] ?? 0);
    const more = total > drawn.length ? `, the ${drawn.length} strongest of ${total.toLocaleString()}` : "";
    const rows = table(`Where shoppers went next${more}`, drawn, products, open);
    linkHover(graph, rows);
    const reach = ringSizes && ` Products first reached after one, two and three steps: ${ringSizes.map((size) => size.toLocaleString()).join(", ")}.`;
    const caption = h("figcaption", { class: "quiet" }, `Thicker means followed more often. Small dots are one step further on.${reach ?? ""}`);
    return h("div", { class: "around" }, h("figure", {}, graph, caption), h("div", { class: "tables" }, rows, before));
  }

  return { inspect };
}

function show() {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  byId("product").focus({ preventScroll: true });
  byId("product").scrollIntoView({ behavior: still ? "instant" : "smooth", block: "start" });
}

function facts(product, buttons) {
  const path = (product.categories ?? []).map((one) => (Array.isArray(one) ? one.join(" › ") : one))[0];
  const value = product.value && ["popularity", "rating", "brand"].map((name) => `${name} ${Number(product.value[name]).toFixed(2)}`).join(", ");
  const rows = [
    ["Id", product.item_id], ["Brand", brandOf(product)], ["Category", path], ["Price", priceText(product)], ["Rating", ratingText(product)],
    ["Popularity", typeof product.popularity === "number" ? count(product.popularity, "interaction") : ""], ["Item value", value],
  ].filter(([, text]) => text);
  return h("div", { class: "facts" }, tile(product),
    h("div", {}, h("h3", { dir: "auto" }, titleOf(product)),
      h("dl", {}, rows.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, text)))), buttons));
}

function table(heading, drawn, products, onInspect) {
  return h("div", { class: "scroll", role: "group", "aria-label": heading, tabindex: "0" }, h("table", {},
    h("caption", {}, heading),
    h("thead", {}, h("tr", {}, ["#", "Product", "Times", "Weight"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, drawn.map((one, index) => h("tr", { "data-id": one.item_id },
      h("td", {}, String(index + 1)),
      h("th", { scope: "row" }, h("button", { type: "button", class: "title", dir: "auto", onclick: () => onInspect(one.item_id) }, titleOf(products.get(one.item_id)))),
      h("td", {}, String(one.count ?? "")), h("td", {}, Number(one.weight).toFixed(2)))))));
}

/** Pointing at a row marks its node, and the other way round. */
function linkHover(...parts) {
  const mark = (event) => {
    const id = event.type === "mouseleave" ? null : event.target.closest("[data-id]")?.dataset.id;
    for (const part of parts) for (const node of part.querySelectorAll("[data-id]")) node.classList.toggle("same", node.dataset.id === id);
  };
  for (const part of parts) for (const type of ["mouseover", "focusin", "mouseleave"]) part.addEventListener(type, mark);
}
