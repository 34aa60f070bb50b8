// Talks to llmd from Node: a program to copy from. See README.md.
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { connect as connectSocket } from "node:net";
import { parseArgs } from "node:util";
import { create, toBinary } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import {
  AssistantMessageSchema,
  ContextSchema,
  MessageSchema,
  StopReason,
  ToolSchema,
  UserContentSchema,
  type AssistantMessage,
  type Message,
  type ToolCall,
} from "../gen/llmd/v1/content_pb.js";
import {
  AbortCause,
  InferenceService,
  StreamOptionsSchema,
  StreamRequestSchema,
  type StreamResponse,
} from "../gen/llmd/v1/inference_service_pb.js";
import { Accumulator, IncompleteStream } from "./accumulator.js";

const usage = `usage: client [flags] COMMAND

  ask MODEL PROMPT            stream an answer; Ctrl-C aborts it and keeps what there is
  tools MODEL PROMPT          let the model call a tool until it has its answer
  handoff MODEL OTHER PROMPT  ask one model, and another to go on
  cancel MODEL PROMPT         cancel after the first words, then fetch the partial
  resume MODEL PROMPT         lose the connection after the first words, and go on
  vectors NAME...             fold the golden streams of a test server

  --addr ADDRESS    host:port or unix:/path; default 127.0.0.1:50051
  --ca FILE         PEM file of the authority to trust: use TLS
  --token-file FILE file with a bearer token for llmd
  --deadline S      seconds that an answer may take
  --image FILE      PNG file to show the model
  --save FILE       file for the conversation, a llmd.v1.Context

A PROMPT of - is read from the standard input.`;

const weatherTool = create(ToolSchema, {
  name: "weather",
  description: "The weather in a city now.",
  parametersJsonSchema: '{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}',
});

/** What stays on this machine: there a token may go without TLS. */
const local = /^(unix:.*|(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+)$/;

/** Sends the token of a file with each call. */
function bearer(tokenFile: string): Interceptor {
  const authorization = `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
  return (next) => (request) => {
    request.header.set("authorization", authorization);
    return next(request);
  };
}

/** Opens host:port or unix:/path, with TLS if ca is set. */
function connect(address: string, ca?: string, tokenFile?: string) {
  if (tokenFile && !ca && !local.test(address)) {
    throw new Error("--token-file would send the token in the clear to another machine: use --ca as well");
  }
  const path = address.startsWith("unix:") ? address.slice("unix:".length) : undefined;
  const baseUrl = path ? "http://localhost" : `${ca ? "https" : "http"}://${address}`;
  const connection = new Http2SessionManager(baseUrl, undefined, {
    ...(path && { createConnection: () => connectSocket(path) }),
    ...(ca && { ca: readFileSync(ca) }),
  });
  const transport = createGrpcTransport({
    baseUrl,
    sessionManager: connection,
    interceptors: tokenFile ? [bearer(tokenFile)] : [],
  });
  return { client: createClient(InferenceService, transport), close: () => connection.abort() };
}

/** One conversation. */
class Chat {
  readonly context = create(ContextSchema);
  aborted = false; // the person pressed Ctrl-C

  constructor(
    private readonly client: Client<typeof InferenceService>,
    private readonly deadline?: number,
  ) {}

  say(text: string, image?: string) {
    const content = [create(UserContentSchema, { block: { case: "text", value: { text } } })];
    if (image) {
      const source = { case: "data", value: readFileSync(image) } as const;
      content.push(create(UserContentSchema, { block: { case: "image", value: { source, mimeType: "image/png" } } }));
    }
    this.context.messages.push(create(MessageSchema, { message: { case: "user", value: { content } } }));
  }

  /** Appends an answer as it came: signatures, order and argument text are what providers check. */
  private keep(message: AssistantMessage) {
    this.context.messages.push(create(MessageSchema, { message: { case: "assistant", value: message } }));
  }

  private request(model: string) {
    return create(StreamRequestSchema, {
      requestId: randomUUID(),
      generation: { model, context: this.context },
      options: { deadlineMargin: { seconds: 1n } }, // with a deadline, the partial arrives this long before it
    });
  }

  /** Streams an answer to the terminal and appends it to the conversation, whole or not. */
  async answer(model: string): Promise<AssistantMessage> {
    const request = this.request(model);
    const interrupted = () => void this.abort(request.requestId);
    process.once("SIGINT", interrupted);
    const fold = new Accumulator();
    try {
      for await (const event of this.client.stream(request, { timeoutMs: this.deadline && this.deadline * 1000 })) {
        fold.add(event);
        show(event, fold);
      }
      if (!fold.ended) throw new IncompleteStream();
    } finally {
      process.off("SIGINT", interrupted);
      console.log();
      if (fold.message().responseId) this.keep(fold.message());
    }
    this.aborted = fold.message().stopReason === StopReason.ABORTED;
    return fold.message();
  }

  /** Ends the answer while its stream stays open: it gets an aborted event with what there was. */
  private async abort(requestId: string) {
    try {
      await this.client.abort({ target: { case: "requestId", value: requestId }, reason: "Ctrl-C" });
    } catch (error) {
      console.error("abort:", describe(error));
    }
  }

  /** Answers tool calls until the model needs no more. */
  async toolLoop(model: string) {
    this.context.tools.push(weatherTool);
    for (;;) {
      const { stopReason, content } = await this.answer(model);
      if (stopReason !== StopReason.TOOL_USE) return;
      for (const { block } of content) {
        if (block.case === "toolCall") this.context.messages.push(weather(block.value));
      }
    }
  }

  /** The other way to stop: the call is cancelled, which shows nothing more, and llmd keeps what there was. */
  async cancelled(model: string) {
    const call = new AbortController();
    let responseId = "";
    try {
      for await (const { event } of this.client.stream(this.request(model), { signal: call.signal })) {
        if (event.case === "started") responseId = event.value.responseId;
        if (event.case === "textDelta") call.abort();
      }
    } catch (error) {
      if (ConnectError.from(error).code !== Code.Canceled) throw error;
    }
    const target = { case: "responseId" as const, value: responseId };
    const { message } = await this.client.getResponse({ target, waitDuration: { seconds: 5n } });
    if (!message) return;
    this.keep(message);
    console.log("cancelled:", StopReason[message.stopReason]);
  }

  /**
   * What to do when a connection is lost: the response goes on without a reader for as long as was asked for, and
   * attach takes it up behind the last event seen.
   */
  async resumed(model: string) {
    const request = this.request(model);
    request.options = create(StreamOptionsSchema, { detached: { seconds: 60n } });
    const fold = new Accumulator();
    const call = new AbortController();
    let lastSequenceNumber = 0;
    for await (const event of this.client.stream(request, { signal: call.signal })) {
      fold.add(event);
      show(event, fold);
      lastSequenceNumber = event.sequenceNumber;
      if (event.event.case === "textDelta") break;
    }
    call.abort(); // as a network may
    const target = { case: "requestId" as const, value: request.requestId };
    for await (const event of this.client.attach({ target, lastSequenceNumber })) {
      fold.add(event);
      show(event, fold);
    }
    console.log();
    if (!fold.ended) throw new IncompleteStream();
    this.keep(fold.message());
  }

  /** Prints what the test server's streams fold to. */
  async vectors(names: string[]) {
    for (const name of names) {
      const fold = new Accumulator();
      try {
        for await (const event of this.client.stream(this.request(`vectors/${name}`))) fold.add(event);
      } catch (error) {
        if (!(error instanceof ConnectError)) throw error; // the status of a stream that ended with an error event
      }
      const data = Buffer.from(toBinary(AssistantMessageSchema, fold.message())).toString("base64");
      console.log(name, fold.ended ? data : "incomplete stream");
    }
  }
}

/** Prints an event: the answer to the output, the rest beside it. */
function show({ event }: StreamResponse, fold: Accumulator) {
  switch (event.case) {
    case "textDelta":
      process.stdout.write(event.value.delta);
      break;
    case "thinkingDelta":
      process.stderr.write(event.value.delta);
      break;
    case "thinkingEnd":
      console.error();
      break;
    case "toolCallDelta": {
      // What can be read so far, by any JSON parser. To look at, not to act on.
      const known: unknown = JSON.parse(fold.arguments(event.value.contentIndex));
      console.error("partial", JSON.stringify(known));
      break;
    }
    case "aborted":
      console.error("aborted:", AbortCause[event.value.cause], event.value.reason);
  }
}

/** Runs the tool. Calls that the model did not finish are not run. */
function weather(call: ToolCall): Message {
  const text = call.argumentsError
    ? `unreadable arguments: ${call.argumentsError}`
    : `22 °C and sunny in ${(JSON.parse(call.argumentsJson) as { city?: string }).city ?? ""}`;
  return create(MessageSchema, {
    message: {
      case: "toolResult",
      value: {
        toolCallId: call.id,
        toolName: call.name,
        isError: call.argumentsError !== "",
        content: [{ block: { case: "text", value: { text } } }],
      },
    },
  });
}

/** Says what an error means: the reason is for programs, the delay is there if trying again makes sense. */
function describe(error: unknown): string {
  if (!(error instanceof ConnectError)) return String(error);
  const [info] = error.findDetails(ErrorInfoSchema);
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const retry = delay ? `; retry in ${durationMs(delay) / 1000} s` : "";
  return `${info ? info.reason + " " : ""}(${Code[error.code]}): ${error.rawMessage}${retry}`;
}

async function main(): Promise<number> {
  const text = { type: "string" } as const;
  const { values, positionals } = parseArgs({
    options: {
      addr: { ...text, default: "127.0.0.1:50051" },
      ca: text,
      "token-file": text,
      deadline: text,
      image: text,
      save: text,
    },
    allowPositionals: true,
  });
  const [command = "", ...args] = positionals;
  const wanted = { ask: 2, tools: 2, handoff: 3, cancel: 2, resume: 2, vectors: args.length }[command];
  if (wanted !== args.length) {
    console.error(usage);
    return 2;
  }
  const { client, close } = connect(values.addr, values.ca, values["token-file"]);
  const chat = new Chat(client, values.deadline ? Number(values.deadline) : undefined);
  const [model = "", other = ""] = args;
  try {
    if (command === "vectors") {
      await chat.vectors(args);
      return 0;
    }
    const prompt = args.at(-1) ?? "";
    chat.say(prompt === "-" ? readFileSync(0, "utf8") : prompt, values.image);
    if (command === "tools") await chat.toolLoop(model);
    else if (command === "cancel") await chat.cancelled(model);
    else if (command === "resume") await chat.resumed(model);
    else await chat.answer(model);
    if (command === "handoff" && !chat.aborted) {
      chat.say("Go on.");
      await chat.answer(other); // the same conversation, another model
    }
  } catch (error) {
    console.error("error:", describe(error));
    return 1;
  } finally {
    if (values.save) writeFileSync(values.save, toBinary(ContextSchema, chat.context));
    close();
  }
  return chat.aborted ? 130 : 0;
}

process.exitCode = await main();
