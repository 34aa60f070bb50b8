// One answer of llmd, streamed: what the page and the program for Node have in common.
import { create } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type CallOptions, type Client, type Transport } from "@connectrpc/connect";
import { ErrorInfoSchema, RetryInfoSchema } from "../gen/google/rpc/error_details_pb.js";
import { MessageSchema, StopReason, UserContentSchema, type AssistantMessage } from "../gen/llmd/v1/content_pb.js";
import { InferenceService, StreamRequestSchema } from "../gen/llmd/v1/inference_service_pb.js";

/** What happens to the text while it comes. */
export interface Listener {
  text(delta: string): void;
  thinking?(delta: string): void;
}

export class Answer {
  /** Ours to choose: it is known before the stream begins, so that it can be aborted at any time. */
  readonly requestId = crypto.randomUUID();
  private readonly client: Client<typeof InferenceService>;

  constructor(
    transport: Transport,
    private readonly token?: string,
  ) {
    this.client = createClient(InferenceService, transport);
  }

  /** Streams the answer to the end, and returns its message, whole or not. */
  async stream(model: string, prompt: string, listener: Listener, timeoutMs?: number): Promise<AssistantMessage> {
    const content = [create(UserContentSchema, { block: { case: "text", value: { text: prompt } } })];
    const request = create(StreamRequestSchema, {
      requestId: this.requestId,
      options: { deadlineMargin: { seconds: 1n } }, // with a deadline, the partial arrives this long before it
      generation: { model, context: { messages: [create(MessageSchema, { message: { case: "user", value: { content } } })] } },
    });
    let message: AssistantMessage | undefined;
    try {
      for await (const { event } of this.client.stream(request, { ...this.call(), timeoutMs })) {
        if (event.case === "textDelta") listener.text(event.value.delta);
        if (event.case === "thinkingDelta") listener.thinking?.(event.value.delta);
        if (event.case === "done" || event.case === "error" || event.case === "aborted") message = event.value.message;
      }
    } catch (error) {
      if (!message) throw error; // with a message, it says the same in message.error
    }
    if (!message) throw new Error("the stream ended without a terminal event");
    return message;
  }

  /** Ends the answer while its stream stays open, which then gets what there was. */
  async abort(reason: string) {
    await this.client.abort({ target: { case: "requestId", value: this.requestId }, reason }, this.call());
  }

  private call(): CallOptions {
    return this.token ? { headers: { Authorization: `Bearer ${this.token}` } } : {};
  }
}

/** Says how an answer ended. */
export function ending(message: AssistantMessage): string {
  const why = message.error ? ` ${message.error.reason}` : "";
  return `${StopReason[message.stopReason]}${why}, ${message.usage?.totalTokens ?? 0} tokens`;
}

/** Says what an error means: the reason is for programs, the delay is there if trying again makes sense. */
export function describe(error: unknown): string {
  if (!(error instanceof ConnectError)) return String(error);
  const [info] = error.findDetails(ErrorInfoSchema);
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const retry = delay ? `; retry in ${durationMs(delay) / 1000} s` : "";
  return `${info ? info.reason + " " : ""}(${Code[error.code]}): ${error.rawMessage}${retry}`;
}
