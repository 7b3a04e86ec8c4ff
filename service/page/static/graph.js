/** An item's neighbourhood in the transition graph as a picture: what shoppers went to next. */

import { s } from "./dom.js";
import { titleOf } from "./words.js";

const SIZE = { width: 480, height: 400 };
const RING = { x: 170, y: 138 };
const FAN = 0.3;

/**
 * Where everything goes: neighbours around the centre, the strongest at the top and then clockwise; what follows
 * a neighbour fans out behind it, or is a thin line where it is a neighbour itself.
 *
 * @param {{item_id: string, weight: number}[]} neighbours of the centre.
 * @param {Map<string, {item_id: string, weight: number}[]>} next what follows each neighbour.
 */
export function layOut(neighbours, next) {
  const centre = { x: SIZE.width / 2, y: SIZE.height / 2 };
  const at = (angle, far) => ({ x: centre.x + RING.x * far * Math.sin(angle), y: centre.y - RING.y * far * Math.cos(angle) });
  const nodes = neighbours.map((neighbour, index) => {
    const angle = (2 * Math.PI * index) / neighbours.length;
    return { ...neighbour, number: index + 1, angle, radius: 12 + 5 * neighbour.weight, ...at(angle, 1) };
  });
  const placed = new Map(nodes.map((node) => [node.item_id, node]));
  const links = [];
  const dots = [];
  for (const node of nodes) {
    const followers = next.get(node.item_id) ?? [];
    for (const { item_id: id } of followers) if (placed.has(id) && id !== node.item_id) links.push({ from: node, to: placed.get(id) });
    const outside = followers.filter(({ item_id: id }) => !placed.has(id)).slice(0, 3);
    outside.forEach((follower, index) => {
      const spread = (index - (outside.length - 1) / 2) * Math.min(FAN, 4 / neighbours.length / 3);
      dots.push({ ...follower, from: node, ...at(node.angle + spread, 1.34) });
    });
  }
  return { centre, nodes, links, dots };
}

/** The picture; the table beside it says the same in words, so this is one image to a screen reader. */
export function picture({ label, neighbours, next, products, onInspect }) {
  const { centre, nodes, links, dots } = layOut(neighbours, next);
  const named = (id) => s("title", {}, titleOf(products.get(id)));
  const svg = s("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": label, class: "graph" });
  svg.append(
    s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 0 8 4 0 8z" }))),
    ...dots.map((dot) => s("line", { class: "thin", x1: dot.from.x, y1: dot.from.y, x2: dot.x, y2: dot.y })),
    ...links.map(({ from, to }) => s("path", { class: "thin", d: bend(from, to, centre) })),
    ...nodes.map((node) => edge(centre, node)),
    ...dots.map((dot) => s("circle", { class: "dot", cx: dot.x, cy: dot.y, r: 4, onclick: () => onInspect(dot.item_id) }, named(dot.item_id))),
    ...nodes.map((node) => s("g", { class: "node", "data-id": node.item_id, onclick: () => onInspect(node.item_id) },
      s("circle", { cx: node.x, cy: node.y, r: node.radius }),
      s("text", { x: node.x, y: node.y + 4 }, String(node.number)), named(node.item_id))),
    s("circle", { class: "centre", cx: centre.x, cy: centre.y, r: 20 }),
  );
  return svg;
}

function edge(from, to) {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const share = (length - to.radius - 3) / length;
  const end = { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
  return s("line", { class: "edge", x1: from.x, y1: from.y, x2: end.x, y2: end.y, "stroke-width": (1 + 4 * to.weight).toFixed(1), "marker-end": "url(#arrow)" });
}

/** A curve that bows towards the centre, so that lines between neighbours do not run along the ring. */
function bend(from, to, centre) {
  const mid = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
  return `M${from.x} ${from.y} Q${mid.x + (centre.x - mid.x) * 0.35} ${mid.y + (centre.y - mid.y) * 0.35} ${to.x} ${to.y}`;
}
