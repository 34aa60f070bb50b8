// Sends conversations with the npm package @earendil-works/pi-ai to a server of its
// own on loopback, and prints what arrived there: one JSON object a line, with the id
// of the conversation and the body, or the error where nothing arrived.
//
// Standard input is {"entry": path of the package's "compat" module, "requests":
// [{"id", "model", "context", "options"}]}. The package is not part of this
// repository; `.ci/run crosscheck` installs it beside the checkout.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const bodies = new Map(); // by the first part of the path
const server = createServer((request, response) => {
  const id = request.url.split("/")[1];
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    if (!bodies.has(id)) bodies.set(id, Buffer.concat(chunks).toString("utf8"));
    response.writeHead(400, { "content-type": "application/json" });
    response.end('{"error":{"message":"seen","type":"invalid_request_error","code":400,"status":"INVALID_ARGUMENT"}}');
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${server.address().port}`;

let text = "";
for await (const chunk of process.stdin) text += chunk;
const { entry, requests } = JSON.parse(text);
const { streamSimple } = await import(pathToFileURL(entry).href);

for (const [n, { id, model, context, options }] of requests.entries()) {
  let error = "";
  try {
    const stream = streamSimple(
      { ...model, baseUrl: `${address}/${n}${model.baseUrl}` },
      context,
      { ...options, apiKey: "loopback", maxRetries: 0, timeoutMs: 20000 },
    );
    for await (const event of stream) {
      if (event.type === "error") error = String(event.error?.errorMessage ?? "failed");
    }
  } catch (e) {
    error = String(e?.stack ?? e);
  }
  const body = bodies.get(String(n));
  process.stdout.write(JSON.stringify(body === undefined ? { id, error } : { id, body }) + "\n");
}
server.close();
server.closeAllConnections();
