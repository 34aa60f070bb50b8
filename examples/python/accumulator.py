"""Folds llmd's events into the message so far; the rules are in proto/vectors."""

from dataclasses import dataclass, field

from llmd.v1.content_pb2 import STOP_REASON_PENDING, AssistantContent, AssistantMessage

# The kinds of blocks that come in deltas, and the field that the deltas fill.
TEXT = {"text": "text", "thinking": "thinking", "tool_call": "arguments_json"}
HEAD = ("api", "provider", "model", "response_model", "response_id", "provider_response_id")


class IncompleteStream(Exception):
    """The stream ended without a terminal event: there is no answer."""


@dataclass
class Block:
    content: AssistantContent = field(default_factory=AssistantContent)
    text: bytearray | None = None  # the deltas joined, while the content goes without
    open: bool = False
    valid: int = 0  # bytes of a tool call's text that can be read, with closing behind them
    closing: str = ""

    def whole(self) -> AssistantContent:
        if self.text is None:
            return self.content
        out = AssistantContent()
        out.CopyFrom(self.content)
        kind = out.WhichOneof("block")
        block, text = getattr(out, kind), self.text.decode()
        if kind == "tool_call" and (self.open or block.arguments_error or not text):
            text = self.text[: self.valid].decode() + self.closing if self.valid else "{}"
        setattr(block, TEXT[kind], text)
        return out


class Accumulator:
    def __init__(self):
        self._head = AssistantMessage(stop_reason=STOP_REASON_PENDING)
        self._blocks: list[Block] = []
        self.ended = False

    def add(self, event):
        name = event.WhichOneof("event")
        if name is None:
            return  # of a newer kind
        e, (kind, _, step) = getattr(event, name), name.rpartition("_")
        if name == "started":
            self._blocks = []  # it begins anew, if an earlier connection was lost
            self._head = AssistantMessage(stop_reason=STOP_REASON_PENDING, **{f: getattr(e, f) for f in HEAD})
            for f in ("create_time", "usage"):
                if e.HasField(f):
                    getattr(self._head, f).CopyFrom(getattr(e, f))
        elif step == "start":
            given = {f.name: v for f, v in e.ListFields() if f.name != "content_index"}
            start = AssistantContent(**{kind: {**given, "incomplete": True}})
            self._put(e, Block(start, bytearray(), open=True))
        elif step == "delta" and e.content_index < len(self._blocks) and self._blocks[e.content_index].open:
            block = self._blocks[e.content_index]
            block.text += e.delta.encode()
            if kind == "tool_call":
                block.valid, block.closing = e.valid_prefix_bytes, e.closing
        elif step == "end":
            end = AssistantContent(**{kind: e.tool_call if kind == "tool_call" else e.content})
            old = self._put(e, Block(end))
            if e.content_omitted:
                new = self._blocks[e.content_index]
                new.text, new.valid, new.closing = old.text, old.valid, old.closing
        elif name == "provider_content":
            self._put(e, Block(AssistantContent(provider_content=e.content)))
        elif name == "signature_update" and e.content_index < len(self._blocks):
            block = self._blocks[e.content_index].content
            if kind := block.WhichOneof("block"):
                getattr(block, kind).signature.CopyFrom(e.signature)
        elif name == "usage_update":
            self._head.usage.CopyFrom(e)
        elif name in ("snapshot", "done", "error", "aborted"):
            self.ended = name != "snapshot"
            if not e.content_omitted:
                self._blocks = [self._resume(i, c) for i, c in enumerate(e.message.content)]
            self._head.CopyFrom(e.message)
            del self._head.content[:]

    def message(self) -> AssistantMessage:
        """The message so far, and the final one after the terminal event."""
        out = AssistantMessage()
        out.CopyFrom(self._head)
        out.content.extend(block.whole() for block in self._blocks)
        return out

    def arguments(self, index: int) -> str:
        """What can be read of a tool call's arguments so far: one JSON object."""
        return self._blocks[index].whole().tool_call.arguments_json

    def _put(self, e, block: Block) -> Block:
        while e.content_index >= len(self._blocks):
            self._blocks.append(Block())  # what is passed over is of a newer kind
        old, self._blocks[e.content_index] = self._blocks[e.content_index], block
        return old

    def _resume(self, i: int, c) -> Block:
        kind = c.WhichOneof("block")
        copy = AssistantContent()
        copy.CopyFrom(c)
        if self.ended or kind not in TEXT or not getattr(c, kind).incomplete:
            return Block(copy)
        if kind != "tool_call":
            return Block(copy, bytearray(getattr(getattr(c, kind), TEXT[kind]).encode()), open=True)
        # A snapshot has the arguments closed; go on with the deltas if they are here.
        return self._blocks[i] if i < len(self._blocks) and self._blocks[i].open else Block(copy)
