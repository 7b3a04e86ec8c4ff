/** The service's closed vocabularies in a person's words, and how values are written. */

export const RETRIEVERS = {
  "auto": ["Storefront", "What the shop would show: decided by the experiment or the default"],
  "tgh-1": ["TGH-1", "Transition graph around the last item"],
  "tgh-2": ["TGH-2", "Transition graph around the last two items"],
  "dr": ["DR", "Dense vectors: the session against every item"],
  "dr-prior": ["DR + prior", "Dense vectors, re-ranked by item value"],
  "gr": ["GR", "Generates item IDs code by code"],
  "fused": ["Fused", "Graph, dense and value together"],
  "sem-nn": ["Sem-NN", "Nearest texts to the last item"],
  "id-last": ["ID-Last", "Learnt item factors of the last item"],
  "id+sem": ["ID + Sem", "Item factors and text together"],
  "popular": ["Popular", "What most people took"],
};

export const SOURCES = {
  hop1: "1 hop", hop2: "2 hops", hop3: "3 hops", dr: "dense", gr: "generated", text: "text", id: "factors", fused: "fused",
  popular: "popular", backfill: "filled in", fallback: "fallback",
};

export const REASONS = {
  deadline: "the deadline passed",
  full: "the worker's queue was full",
  worker: "the worker was down",
  redis: "the history store was down",
  bundle: "the bundle lacks what it needs",
  no_history: "there is no history yet",
};

export const retrieverName = (name) => RETRIEVERS[name]?.[0] ?? name;
export const reasonText = (reason) => REASONS[reason] ?? reason;

export const titleOf = (product) => product?.title?.trim() || product?.item_id || "";
export const brandOf = (product) => product?.brand?.trim() || "";

/** Last name of the first category path. */
export function leafOf(product) {
  const [path] = product?.categories ?? [];
  return Array.isArray(path) ? path.at(-1) ?? "" : path?.split(">").at(-1).trim() ?? "";
}

export function priceText(product) {
  const { price } = product ?? {};
  return typeof price === "number" ? price.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : "";
}

export function ratingText(product) {
  const { rating_avg: mean, rating_count: count } = product ?? {};
  if (typeof mean !== "number" || !count) return "";
  return `Rated ${mean.toFixed(1)} by ${count.toLocaleString()}`;
}

export function scoreText(score) {
  if (typeof score !== "number") return "";
  return Math.abs(score) >= 1000 ? Math.round(score).toLocaleString() : score.toFixed(3);
}

export const msText = (ms) => (typeof ms === "number" ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms` : "");

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString()} ${n === 1 ? one : many}`;
