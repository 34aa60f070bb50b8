// The page: streams an answer into it, and aborts one.
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { Answer, describe, ending } from "./answer.js";

function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found as T;
}

const form = element<HTMLFormElement>("form");
const abort = element<HTMLButtonElement>("abort");
const thinking = element("thinking");
const answer = element("answer");
const status = element("status");
let running: Answer | undefined;

function field(name: string): string {
  return (form.elements.namedItem(name) as HTMLInputElement | HTMLSelectElement).value;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  void send();
});

abort.addEventListener("click", () => {
  running?.abort("by the page").catch((error: unknown) => (status.textContent = describe(error)));
});

async function send() {
  const options = { baseUrl: field("address"), useBinaryFormat: field("format") === "binary" };
  const transport = field("protocol") === "grpc-web" ? createGrpcWebTransport(options) : createConnectTransport(options);
  const one = new Answer(transport, field("token"));
  running = one;
  thinking.textContent = answer.textContent = "";
  status.textContent = "…";
  abort.disabled = false;
  try {
    const message = await one.stream(field("model"), field("prompt"), {
      text: (delta) => answer.append(delta), // text, never HTML: a model's words are not to be trusted
      thinking: (delta) => thinking.append(delta),
    });
    status.textContent = ending(message);
  } catch (error) {
    status.textContent = describe(error);
  } finally {
    abort.disabled = true;
  }
}
