// Runs one call of the JavaScript client: node call_client.mjs CLIENT JOB; prints what it answered or threw, and when.
const [, , path, text] = process.argv;
const { createClient } = await import(path);
const { options, method, args } = JSON.parse(text);
const started = performance.now();
const outcome = await createClient(options)[method](...args).then(
  (answer) => ({ answer }),
  ({ name, message, reason, status, problem }) => ({ error: { name, message, reason, status, problem } }),
);
console.log(JSON.stringify({ ...outcome, took_s: (performance.now() - started) / 1000 }));
