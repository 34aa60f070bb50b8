// The same from Node, over HTTP: a program to copy from. See README.md.
import { parseArgs } from "node:util";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { StopReason } from "../gen/llmd/v1/content_pb.js";
import { Answer, describe, ending } from "./answer.js";

const usage = `usage: node [flags] ask MODEL PROMPT    streams an answer; Ctrl-C aborts it and keeps what there is

  --url URL          of a listener of server.web; default http://127.0.0.1:50080
  --protocol P       connect or grpc-web; default connect
  --binary           binary messages instead of JSON
  --http V           1.1 or 2; default 1.1
  --deadline S       seconds that the answer may take
The token is that of $LLMD_TOKEN, if there is one.`;

async function main(): Promise<number> {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    options: {
      url: { ...text, default: "http://127.0.0.1:50080" },
      protocol: { ...text, default: "connect" },
      binary: { type: "boolean", default: false },
      http: { ...text, default: "1.1" },
      deadline: text,
    },
    allowPositionals: true,
  });
  const [command, model, prompt] = positionals;
  if (command !== "ask" || !model || !prompt || positionals.length !== 3) {
    console.error(usage);
    return 2;
  }
  const options = { baseUrl: values.url, useBinaryFormat: values.binary, httpVersion: values.http === "2" ? ("2" as const) : ("1.1" as const) };
  const transport = values.protocol === "grpc-web" ? createGrpcWebTransport(options) : createConnectTransport(options);
  const answer = new Answer(transport, process.env["LLMD_TOKEN"]);
  const interrupted = () => void answer.abort("Ctrl-C").catch((error: unknown) => console.error("abort:", describe(error)));
  process.once("SIGINT", interrupted);
  try {
    const message = await answer.stream(
      model,
      prompt,
      { text: (delta) => process.stdout.write(delta), thinking: (delta) => process.stderr.write(delta) },
      values.deadline ? Number(values.deadline) * 1000 : undefined,
    );
    console.log();
    console.error(ending(message));
    if (message.stopReason === StopReason.ABORTED) return message.error?.reason === "ABORT_REQUESTED" ? 130 : 1;
    return message.stopReason === StopReason.ERROR ? 1 : 0;
  } catch (error) {
    console.error("error:", describe(error));
    return 1;
  } finally {
    process.off("SIGINT", interrupted);
  }
}

process.exitCode = await main();
