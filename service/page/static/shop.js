/** Search and browse: each product is a button that views it. */

import { byId, debounced, h, latest, replace } from "./dom.js";
import { brandOf, count, leafOf, priceText, titleOf } from "./words.js";

const PAGE_SIZE = 12;

export function createShop({ client, products, onView, onTrouble }) {
  const run = latest();
  let cursor = null;
  let shown = 0;

  function draw(found, isFirst) {
    const rows = found.map((product) => row(product, onView));
    if (isFirst) replace(byId("results"), rows);
    else byId("results").append(...rows);
    shown = isFirst ? rows.length : shown + rows.length;
    byId("more").hidden = !cursor;
    byId("found").textContent = shown ? `${count(shown, "product")} shown${cursor ? ", more to come" : ""}` : "Nothing matches. Try fewer words.";
    return rows;
  }

  async function ask(from) {
    try {
      await run(async (signal, isLatest) => {
        const answer = await client.search({ q: byId("q").value.trim(), cursor: from, limit: PAGE_SIZE }, { signal });
        if (!isLatest()) return;
        answer.items.forEach(products.remember);
        cursor = answer.next_cursor ?? null;
        const rows = draw(answer.items, !from);
        if (from) rows[0]?.querySelector("button").focus();
      });
    } catch (error) {
      onTrouble(error, "The catalogue could not be read");
    }
  }

  const search = debounced(() => ask(), 200);
  byId("q").addEventListener("input", search);
  byId("search").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  byId("more").addEventListener("click", () => ask(cursor));
  return { browse: () => ask() };
}

function row(product, onView) {
  const meta = [brandOf(product), priceText(product), leafOf(product)].filter(Boolean).join(" · ");
  return h("li", {},
    h("button", { type: "button", class: "product", onclick: () => onView(product.item_id, null) },
      tile(product),
      h("span", { class: "text" },
        h("span", { class: "title", dir: "auto" }, titleOf(product)),
        h("span", { class: "meta", dir: "auto" }, product.available === false ? `${meta} · out of stock` : meta))));
}

/** A coloured square with an initial: the catalogue carries no pictures. Products of one category share a colour. */
export function tile(product) {
  const name = leafOf(product) || product.item_id;
  const hue = [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);
  const initial = (brandOf(product) || titleOf(product)).match(/[\p{L}\p{N}]/u)?.[0].toUpperCase() ?? "•";
  const square = h("span", { class: "tile", "aria-hidden": "true" }, initial);
  square.style.setProperty("--hue", hue);
  return square;
}
