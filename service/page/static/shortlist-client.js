/**
 * Shortlist in a storefront: one file, no dependencies, for browsers and Node 18+.
 *
 *   import { createClient } from "./shortlist-client.js";
 *   const shortlist = createClient({ baseUrl: "https://shortlist.example", fallback: ["B004756YJA"] });
 *   const answer = await shortlist.recommend({ user_id: "u1", k: 12 });
 *   answer.items.forEach((item) => draw(item.item_id));
 *
 * `recommend` keeps to `timeoutMs`, retries included. With a `fallback` list it then answers with that list and says why
 * in `answer.degraded`; without one it throws. What the caller got wrong (400 to 422) always throws: a fallback
 * would hide the mistake.
 */

const RETRIED = new Set([429, 502, 503, 504]);
const CALLERS_FAULT = (status) => status >= 400 && status < 500 && status !== 408 && status !== 429;

/** What went wrong: `status` is 0 when there was no answer; `problem` is the service's RFC 9457 document, if any. */
export class ShortlistError extends Error {
  constructor(reason, { status = 0, problem = null, cause } = {}) {
    super(problem?.detail || problem?.title || reason, { cause });
    this.name = "ShortlistError";
    this.reason = reason;
    this.status = status;
    this.problem = problem;
  }
}

/**
 * @param {object} options
 * @param {string} options.baseUrl where the service is; a path in front of it is kept.
 * @param {number} [options.timeoutMs] for one call, retries included.
 * @param {number} [options.retries] further tries after no answer, 429, 502, 503 or 504, as far as the time allows.
 * @param {string[]} [options.fallback] item ids to show when the service does not answer in time.
 * @param {string} [options.apiKey] sent as a bearer token.
 * @param {typeof fetch} [options.fetch] for tests and proxies.
 */
export function createClient({ baseUrl, timeoutMs = 400, retries = 1, fallback = [], apiKey, fetch = globalThis.fetch }) {
  const base = new URL(baseUrl.endsWith("/") ? baseUrl : `${baseUrl}/`);
  const settings = { base, timeoutMs, retries, apiKey, fetch: (...args) => fetch(...args) };
  const get = (path, options) => call(settings, "GET", path, undefined, options);

  return {
    /** Candidates; `query` is the body of POST /recommend. Options: retriever, signal, timeoutMs, onResponse. */
    async recommend(query = {}, { retriever, ...options } = {}) {
      const path = retriever ? `recommend/${encodeURIComponent(retriever)}` : "recommend";
      try {
        return { ...(await call(settings, "POST", path, query, options)), degraded: null };
      } catch (error) {
        const mayHide = error instanceof ShortlistError && !CALLERS_FAULT(error.status);
        if (!mayHide || fallback.length === 0) throw error;
        return fallbackAnswer(query, fallback, error);
      }
    },
    /** Appends events; each gets an `event_id` when it has none, so that a retry counts once. */
    sendEvents(events, options) {
      const list = [events].flat().map((event) => ({
        event_id: randomId(), timestamp: new Date().toISOString(), event: "view", ...event,
      }));
      return call(settings, "POST", "events", list, options);
    },
    search({ q = "", cursor, limit } = {}, options) {
      return get(withQuery("items", { q, cursor, limit }), options);
    },
    /** Several items in one call, where the service has that. */
    items: (ids, options) => get(withQuery("items", { id: ids }), options),
    item: (id, options) => get(`items/${encodeURIComponent(id)}`, options),
    neighbours: (id, { limit, ...options } = {}) => get(withQuery(`items/${encodeURIComponent(id)}/neighbours`, { limit }), options),
    history: (userId, options) => get(`users/${encodeURIComponent(userId)}/history`, options),
    forget: (userId, options) => call(settings, "DELETE", `users/${encodeURIComponent(userId)}/history`, undefined, options),
    /** Any other GET of the API. */
    get,
  };
}

function fallbackAnswer(query, ids, error) {
  const left = new Set([...(query.history ?? []), ...(query.exclude ?? [])]);
  const items = ids.filter((id) => !left.has(id)).slice(0, query.k ?? 50)
    .map((item_id, index) => ({ item_id, rank: index + 1, score: 0, source: "fallback" }));
  return {
    request_id: null, user_id: query.user_id ?? null, retriever: null, experiment: null, items,
    exact: null, unknown_items: [], bundle: null, took_ms: null,
    degraded: { reason: error.reason, status: error.status },
  };
}

async function call(settings, method, path, body, { signal, timeoutMs = settings.timeoutMs, onResponse } = {}) {
  const clock = new AbortController();
  const stop = () => clock.abort(signal.reason);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const deadline = performance.now() + timeoutMs;
  const timer = setTimeout(() => clock.abort(new ShortlistError("timeout")), timeoutMs);
  try {
    return await tries({ ...settings, onResponse }, method, path, body, clock.signal, deadline);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

async function tries(settings, method, path, body, signal, deadline) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await once(settings, method, path, body, signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const waitMs = error.retryAfterMs ?? Math.random() * 50 * 2 ** attempt;
      const again = attempt < settings.retries && (error.status === 0 || RETRIED.has(error.status));
      if (!again || performance.now() + waitMs >= deadline) throw error;
      await pause(waitMs, signal);
    }
  }
}

async function once(settings, method, path, body, signal) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (settings.apiKey) headers.Authorization = `Bearer ${settings.apiKey}`;
  let response;
  try {
    response = await settings.fetch(new URL(path, settings.base), {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
    });
    settings.onResponse?.(response);
    const text = await response.text();
    if (response.ok) return text ? JSON.parse(text) : null;
    throw refusal(response, text);
  } catch (error) {
    if (error instanceof ShortlistError) throw error;
    throw new ShortlistError(response ? "bad answer" : "no answer", { status: response?.status ?? 0, cause: error });
  }
}

function refusal(response, text) {
  let problem = null;
  try {
    problem = JSON.parse(text);
  } catch {
    // A proxy's page: the status alone must do.
  }
  const error = new ShortlistError(`status ${response.status}`, { status: response.status, problem });
  const seconds = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  if (Number.isFinite(seconds)) error.retryAfterMs = seconds * 1000;
  return error;
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

function withQuery(path, fields) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== "") query.append(name, one);
  }
  return query.size ? `${path}?${query}` : path;
}

/** `crypto.randomUUID` exists on https and localhost alone; the page may be looked at over plain http. */
function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
