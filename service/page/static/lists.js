/** The lists of all chosen retrievers, one column each, drawn as their answers arrive. */

import { announce, byId, h, latest, replace } from "./dom.js";
import { itemRow, replaceRows } from "./list-item.js";
import { RETRIEVERS, count, msText, reasonText, retrieverName } from "./words.js";

const PATIENCE_MS = 10_000;

export function createLists({ client, products, session, choices, onView, onAnswer }) {
  const run = latest();
  const columns = new Map();
  const listed = new Map();

  function column(name) {
    if (!columns.has(name)) columns.set(name, emptyColumn(name));
    return columns.get(name);
  }

  function layOut(names) {
    const wanted = names.map((name) => column(name).root);
    const present = [...byId("columns").children];
    if (wanted.length !== present.length || wanted.some((node, at) => node !== present[at])) replace(byId("columns"), wanted);
    [...listed.keys()].filter((name) => !names.includes(name)).forEach((name) => listed.delete(name));
  }

  async function fillColumn(name, query, signal, isLatest) {
    const parts = column(name);
    parts.root.setAttribute("aria-busy", "true");
    try {
      const { answer, facts } = await ask(client, name, query, choices.variant(), signal);
      await products.load(answer.items.map((item) => item.item_id), signal);
      if (!isLatest()) return;
      drawFacts(parts, answer, facts, leftOutText(answer, query, new Set(session.state.history).size, choices.filterText()));
      drawRows(parts, answer);
      listed.set(name, answer.items.map((item) => item.item_id));
      onAnswer(name, answer);
    } catch (error) {
      if (!isLatest()) return;
      drawFailure(parts, error);
      listed.delete(name);
    }
    parts.root.removeAttribute("aria-busy");
    countShared(listed);
  }

  function drawRows(parts, answer) {
    const view = (id) => onView(id, answer.request_id);
    replaceRows(parts.list, answer.items.map((entry) => itemRow(entry, products.get(entry.item_id), view, h("span", { class: "shared" }))));
    if (answer.items.length === 0) parts.list.replaceChildren(h("li", { class: "quiet" }, "Nothing is left that may be returned."));
  }

  async function refresh(said) {
    const names = choices.names();
    layOut(names);
    await run(async (signal, isLatest) => {
      const query = { ...session.query(), ...choices.query(), ...(session.state.hidden.size ? { exclude: [...session.state.hidden] } : {}) };
      byId("lists-note").textContent = "Asking…";
      await Promise.all(names.map((name) => fillColumn(name, query, signal, isLatest)));
      if (!isLatest()) return;
      byId("lists-note").textContent = `${count(listed.size, "list")} up to date`;
      if (said) announce(`${said}. The recommendations are up to date.`);
    });
  }

  byId("columns").addEventListener("mouseover", mark);
  byId("columns").addEventListener("focusin", mark);
  byId("columns").addEventListener("mouseleave", () => marked(null));
  return { refresh };
}

function emptyColumn(name) {
  const [title, about] = RETRIEVERS[name] ?? [name, ""];
  const id = `column-${name.replace(/\W/g, "-")}`;
  const notes = h("div", { class: "notes" });
  const list = h("ol", { class: "items", "aria-labelledby": id });
  const head = h("h3", { id, tabindex: "-1" }, title);
  return { root: h("section", { class: "column", "aria-labelledby": id, "data-retriever": name }, h("header", {}, head, h("p", { class: "about" }, about), notes), list), notes, list };
}

async function ask(client, name, query, variant, signal) {
  const started = performance.now();
  let timing = "";
  const onResponse = (response) => { timing = response.headers.get("Server-Timing") ?? ""; };
  const isAuto = name === "auto";
  const body = isAuto && variant ? { ...query, variant } : query;
  const answer = await client.recommend(body, { retriever: isAuto ? undefined : name, signal, timeoutMs: PATIENCE_MS, onResponse });
  return { answer, facts: { roundTripMs: performance.now() - started, timing } };
}

function drawFacts({ notes }, answer, { roundTripMs, timing }, leftOut) {
  const { assigned, served, fallback_reason: reason } = answer.retriever;
  const { experiment, unknown_items: unknown = [], exact } = answer;
  const isAuto = notes.closest("[data-retriever]").dataset.retriever === "auto";
  replace(notes,
    isAuto && h("p", { class: "assigned" }, experiment ? `Experiment ${experiment.name}, variant ${experiment.variant}: ${retrieverName(assigned)}` : `No experiment takes this shopper: ${retrieverName(assigned)} by default`),
    (reason || served !== assigned) && h("p", { class: "fallback" }, fallbackText(assigned, served, reason)),
    h("p", { class: "timing", title: timing || undefined }, `${msText(answer.took_ms)} in the service · ${msText(roundTripMs)} in all`),
    timing && h("p", { class: "timing stages" }, stagesText(timing)),
    h("p", { class: "left-out" }, leftOut),
    unknown.length > 0 && h("p", { class: "left-out" }, `Unknown to this bundle: ${unknown.join(", ")}`),
    typeof exact === "boolean" && h("p", { class: "left-out" }, exact ? "Provably what an unbounded beam finds" : "A wider beam might find more"));
}

function fallbackText(assigned, served, reason) {
  const why = reason ? `: ${reasonText(reason)}` : "";
  return served === assigned ? `Fallback${why}.` : `${retrieverName(assigned)} was asked, ${retrieverName(served)} answered${why}.`;
}

/** "search;dur=0.8, rerank;dur=0.2, total;dur=1.1" -> "search 0.8 · rerank 0.2 ms"; the sum is shown apart. */
function stagesText(timing) {
  const stages = [...timing.matchAll(/([\w-]+);[^,]*?dur=([\d.]+)/g)].filter(([, stage]) => stage !== "total").map(([, stage, ms]) => `${stage} ${Number(ms).toFixed(1)}`);
  return stages.length ? `${stages.join(" · ")} ms` : "";
}

function leftOutText(answer, query, viewed, filterText) {
  const told = answer.excluded;
  const seen = told?.seen ?? (query.exclude_seen ? viewed : 0);
  const parts = [
    seen && `${seen} viewed`,
    query.exclude?.length && `${query.exclude.length} by hand`,
    told?.unavailable && `${told.unavailable} out of stock`,
    told?.filtered && `${told.filtered} by the filter`,
    filterText && `all but ${filterText}`,
  ].filter(Boolean);
  return `Left out: ${parts.length ? parts.join(", ") : "nothing"}`;
}

function drawFailure({ notes, list }, error) {
  const again = error.status === 429 || error.status === 503 ? " Try again in a moment." : "";
  replace(notes, h("p", { class: "fallback" }, `${error.message}${error.status ? ` (${error.status})` : ""}.${again}`.replace("..", ".")));
  replaceRows(list, []);
}

/** "in 3 lists" behind each item that more than one retriever found. */
function countShared(listed) {
  const times = new Map();
  for (const [name, ids] of listed) if (name !== "auto") ids.forEach((id) => times.set(id, (times.get(id) ?? 0) + 1));
  for (const row of byId("columns").querySelectorAll(".item")) {
    const n = times.get(row.dataset.id) ?? 0;
    row.querySelector(".shared").textContent = n > 1 ? `in ${n} lists` : "";
  }
}

const mark = (event) => marked(event.target.closest(".item")?.dataset.id ?? null);

function marked(id) {
  for (const row of byId("columns").querySelectorAll(".item")) row.classList.toggle("same", row.dataset.id === id);
}
