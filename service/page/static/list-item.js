/** One row of a list: rank, title, brand, category, price, why it is here, and its score. */

import { h } from "./dom.js";
import { SOURCES, brandOf, leafOf, priceText, scoreText, titleOf } from "./words.js";

/**
 * @param {object} entry an item of the answer: item_id, rank, score, source.
 * @param {object} product what is known of it.
 * @param {(id: string) => void} onView called when it is chosen.
 * @param {Node} [note] one more mark at the end of the row.
 */
export function itemRow(entry, product, onView, note = null) {
  const meta = [brandOf(product), priceText(product), leafOf(product)].filter(Boolean).join(" · ");
  return h("li", { class: "item", "data-id": entry.item_id },
    h("span", { class: "rank", "aria-hidden": "true" }, String(entry.rank)),
    h("div", { class: "text" },
      h("button", { type: "button", class: "title", dir: "auto", title: titleOf(product), onclick: () => onView(entry.item_id) }, titleOf(product)),
      meta && h("span", { class: "meta", dir: "auto" }, meta),
      h("span", { class: "marks" },
        h("span", { class: "source", "data-source": entry.source }, SOURCES[entry.source] ?? entry.source),
        h("span", { class: "score" }, h("span", { class: "gone" }, "score "), scoreText(entry.score)),
        note)));
}

/** Puts new rows into a list; the focus stays on the same rank when it was inside. */
export function replaceRows(list, rows) {
  const buttons = [...list.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  list.replaceChildren(...rows);
  if (at >= 0) (list.querySelectorAll("button")[at] ?? list.closest("[tabindex]"))?.focus({ preventScroll: true });
}
