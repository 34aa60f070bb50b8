// Folds llmd's events into the message so far; the rules are in proto/vectors.
import { clone, create } from "@bufbuild/protobuf";
import {
  AssistantContentSchema,
  AssistantMessageSchema,
  SignatureSchema,
  StopReason,
  TextContentSchema,
  ThinkingContentSchema,
  ToolCallSchema,
  type AssistantContent,
  type AssistantMessage,
  type Signature,
} from "../gen/llmd/v1/content_pb.js";
import { type StreamResponse, type ToolCallDeltaEvent } from "../gen/llmd/v1/inference_service_pb.js";

type Kind = AssistantContent["block"];

interface Block {
  content: AssistantContent;
  text?: string; // the deltas joined, while the content goes without
  open?: boolean;
  last?: ToolCallDeltaEvent; // says how much of a tool call's text can be read
}

export class IncompleteStream extends Error {
  constructor() {
    super("the stream ended without a terminal event");
  }
}

export class Accumulator {
  /** The terminal event came. */
  ended = false;
  private head = create(AssistantMessageSchema, { stopReason: StopReason.PENDING });
  private blocks: Block[] = [];

  add({ event: e }: StreamResponse) {
    switch (e.case) {
      case "started": {
        const { api, provider, model, responseModel, responseId, providerResponseId, createTime, usage } = e.value;
        const known = { api, provider, model, responseModel, responseId, providerResponseId, createTime, usage };
        this.head = create(AssistantMessageSchema, { ...known, stopReason: StopReason.PENDING });
        this.blocks = []; // it begins anew, if an earlier connection was lost
        break;
      }
      case "textStart":
        this.start(e.value.contentIndex, { case: "text", value: create(TextContentSchema, { incomplete: true }) });
        break;
      case "thinkingStart": {
        const value = create(ThinkingContentSchema, { redacted: e.value.redacted, incomplete: true });
        this.start(e.value.contentIndex, { case: "thinking", value });
        break;
      }
      case "toolCallStart": {
        const { id, name, toolNamespace } = e.value;
        const value = create(ToolCallSchema, { id, name, toolNamespace, incomplete: true });
        this.start(e.value.contentIndex, { case: "toolCall", value });
        break;
      }
      case "textDelta":
      case "thinkingDelta":
      case "toolCallDelta": {
        const block = this.blocks[e.value.contentIndex];
        if (!block?.open) break;
        block.text += e.value.delta;
        if (e.case === "toolCallDelta") block.last = e.value;
        break;
      }
      case "textEnd":
        this.end(e.value, { case: "text", value: e.value.content ?? create(TextContentSchema) });
        break;
      case "thinkingEnd":
        this.end(e.value, { case: "thinking", value: e.value.content ?? create(ThinkingContentSchema) });
        break;
      case "toolCallEnd":
        this.end(e.value, { case: "toolCall", value: e.value.toolCall ?? create(ToolCallSchema) });
        break;
      case "providerContent":
        if (e.value.content) this.put(e.value.contentIndex, { case: "providerContent", value: e.value.content });
        break;
      case "signatureUpdate":
        this.sign(e.value.contentIndex, e.value.signature ?? create(SignatureSchema));
        break;
      case "usageUpdate":
        this.head.usage = e.value;
        break;
      case "snapshot":
      case "done":
      case "error":
      case "aborted": {
        this.ended = e.case !== "snapshot";
        const message = e.value.message ?? create(AssistantMessageSchema);
        if (!e.value.contentOmitted) this.blocks = message.content.map((c, i) => this.resume(c, i));
        this.head = { ...message, content: [] };
      }
    }
  }

  /** The message so far, and the final one after the terminal event. */
  message(): AssistantMessage {
    return { ...this.head, content: this.blocks.map(whole) };
  }

  /** What can be read of a tool call's arguments so far: one JSON object. */
  arguments(index: number): string {
    const block = this.blocks[index];
    const content = block && whole(block).block;
    return content?.case === "toolCall" ? content.value.argumentsJson : "{}";
  }

  private start(index: number, block: Kind) {
    Object.assign(this.put(index, block), { text: "", open: true });
  }

  private end(e: { contentIndex: number; contentOmitted: boolean }, content: Kind) {
    const { text, last } = this.blocks[e.contentIndex] ?? {};
    const block = this.put(e.contentIndex, content);
    if (e.contentOmitted) Object.assign(block, { text, last });
  }

  private put(index: number, block: Kind): Block {
    while (index >= this.blocks.length) {
      this.blocks.push({ content: create(AssistantContentSchema) }); // what is passed over is of a newer kind
    }
    return (this.blocks[index] = { content: create(AssistantContentSchema, { block }) });
  }

  private sign(index: number, signature: Signature) {
    const block = this.blocks[index];
    if (!block) return;
    block.content = clone(AssistantContentSchema, block.content); // it belongs to an event
    const content = block.content.block;
    if (content.case && content.case !== "providerContent") content.value.signature = signature;
  }

  private resume(content: AssistantContent, index: number): Block {
    const { block } = content;
    if (this.ended || !block.case || block.case === "providerContent" || !block.value.incomplete) return { content };
    if (block.case === "text") return { content, text: block.value.text, open: true };
    if (block.case === "thinking") return { content, text: block.value.thinking, open: true };
    // A snapshot has the arguments closed; go on with the deltas if they are here.
    const own = this.blocks[index];
    return own?.open ? own : { content };
  }
}

function whole({ content, text, open, last }: Block): AssistantContent {
  if (text === undefined) return content;
  const out = clone(AssistantContentSchema, content);
  if (out.block.case === "text") out.block.value.text = text;
  if (out.block.case === "thinking") out.block.value.thinking = text;
  if (out.block.case === "toolCall") {
    const closed = open || out.block.value.argumentsError || !text;
    out.block.value.argumentsJson = closed ? readable(text, last) : text;
  }
  return out;
}

// The length counts bytes of UTF-8, and strings are UTF-16 here.
function readable(text: string, last?: ToolCallDeltaEvent): string {
  if (!last?.validPrefixBytes) return "{}";
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, last.validPrefixBytes)) + last.closing;
}
