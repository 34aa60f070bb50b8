//! Folds llmd's events into the message so far; the rules are in proto/vectors.

use crate::llmd::{
    AssistantContent, AssistantMessage, Signature, StopReason, StreamResponse, TextContent, ThinkingContent, ToolCall,
    assistant_content::Block as Kind, stream_response::Event,
};

#[derive(Clone, Default)]
struct Block {
    content: AssistantContent, // of a newer kind by default
    text: Option<String>,      // the deltas joined, while the content goes without
    open: bool,
    valid: usize, // bytes of a tool call's text that can be read, with closing behind them
    closing: String,
}

pub struct Accumulator {
    head: AssistantMessage,
    blocks: Vec<Block>,
    /// The terminal event came. A stream that ends without one is broken: there is no answer.
    pub ended: bool,
}

impl Accumulator {
    pub fn new() -> Self {
        let head = AssistantMessage { stop_reason: StopReason::Pending.into(), ..Default::default() };
        Self { head, blocks: Vec::new(), ended: false }
    }

    pub fn add(&mut self, event: StreamResponse) {
        match event.event {
            Some(Event::Started(s)) => {
                self.head = AssistantMessage {
                    api: s.api,
                    provider: s.provider,
                    model: s.model,
                    response_model: s.response_model,
                    response_id: s.response_id,
                    provider_response_id: s.provider_response_id,
                    create_time: s.create_time,
                    usage: s.usage,
                    stop_reason: StopReason::Pending.into(),
                    ..Default::default()
                };
                self.blocks.clear(); // it begins anew, if an earlier connection was lost
            }
            Some(Event::TextStart(e)) => {
                self.start(e.content_index, Kind::Text(TextContent { incomplete: true, ..Default::default() }))
            }
            Some(Event::ThinkingStart(e)) => {
                let start = ThinkingContent { redacted: e.redacted, incomplete: true, ..Default::default() };
                self.start(e.content_index, Kind::Thinking(start))
            }
            Some(Event::ToolCallStart(e)) => {
                let start =
                    ToolCall { id: e.id, name: e.name, tool_namespace: e.tool_namespace, incomplete: true, ..Default::default() };
                self.start(e.content_index, Kind::ToolCall(start))
            }
            Some(Event::TextDelta(e)) => self.append(e.content_index, &e.delta, None),
            Some(Event::ThinkingDelta(e)) => self.append(e.content_index, &e.delta, None),
            Some(Event::ToolCallDelta(e)) => {
                self.append(e.content_index, &e.delta, Some((e.valid_prefix_bytes as usize, e.closing)))
            }
            Some(Event::TextEnd(e)) => self.end(e.content_index, e.content.map(Kind::Text), e.content_omitted),
            Some(Event::ThinkingEnd(e)) => self.end(e.content_index, e.content.map(Kind::Thinking), e.content_omitted),
            Some(Event::ToolCallEnd(e)) => self.end(e.content_index, e.tool_call.map(Kind::ToolCall), e.content_omitted),
            Some(Event::ProviderContent(e)) => self.end(e.content_index, e.content.map(Kind::ProviderContent), false),
            Some(Event::SignatureUpdate(e)) => self.sign(e.content_index, e.signature),
            Some(Event::UsageUpdate(usage)) => self.head.usage = Some(usage),
            Some(Event::Snapshot(e)) => self.replace(e.message, e.content_omitted, false),
            Some(Event::Done(e)) => self.replace(e.message, e.content_omitted, true),
            Some(Event::Error(e)) => self.replace(e.message, e.content_omitted, true),
            Some(Event::Aborted(e)) => self.replace(e.message, e.content_omitted, true),
            Some(Event::Heartbeat(_) | Event::Stall(_)) | None => {} // None is an event of a newer kind
        }
    }

    /// The message so far, and the final one after the terminal event.
    pub fn message(&self) -> AssistantMessage {
        AssistantMessage { content: self.blocks.iter().map(Block::whole).collect(), ..self.head.clone() }
    }

    /// What can be read of a tool call's arguments so far: one JSON object.
    pub fn arguments(&self, index: i32) -> String {
        match self.blocks.get(index as usize).map(|b| b.whole().block) {
            Some(Some(Kind::ToolCall(call))) => call.arguments_json,
            _ => "{}".into(),
        }
    }

    /// Replaces a block and returns the old one. What is passed over is of a newer kind.
    fn put(&mut self, index: i32, block: Block) -> Block {
        let index = index as usize;
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, Block::default);
        }
        std::mem::replace(&mut self.blocks[index], block)
    }

    fn start(&mut self, index: i32, kind: Kind) {
        self.put(index, Block { text: Some(String::new()), open: true, ..Block::of(Some(kind)) });
    }

    fn append(&mut self, index: i32, delta: &str, readable: Option<(usize, String)>) {
        if let Some(Block { text: Some(text), open: true, valid, closing, .. }) = self.blocks.get_mut(index as usize) {
            text.push_str(delta);
            if let Some(readable) = readable {
                (*valid, *closing) = readable;
            }
        }
    }

    fn end(&mut self, index: i32, kind: Option<Kind>, omitted: bool) {
        let old = self.put(index, Block::of(kind));
        if omitted {
            let block = &mut self.blocks[index as usize];
            (block.text, block.valid, block.closing) = (old.text, old.valid, old.closing);
        }
    }

    fn sign(&mut self, index: i32, signature: Option<Signature>) {
        match self.blocks.get_mut(index as usize).and_then(|b| b.content.block.as_mut()) {
            Some(Kind::Text(b)) => b.signature = signature,
            Some(Kind::Thinking(b)) => b.signature = signature,
            Some(Kind::ToolCall(b)) => b.signature = signature,
            Some(Kind::ProviderContent(_)) | None => {}
        }
    }

    fn replace(&mut self, message: Option<AssistantMessage>, omitted: bool, terminal: bool) {
        self.head = message.unwrap_or_default();
        self.ended = terminal;
        let content = std::mem::take(&mut self.head.content);
        if !omitted {
            self.blocks = content.into_iter().enumerate().map(|(i, c)| self.resume(i, c)).collect();
        }
    }

    fn resume(&self, index: usize, content: AssistantContent) -> Block {
        let text = match &content.block {
            Some(Kind::Text(b)) if b.incomplete => b.text.clone(),
            Some(Kind::Thinking(b)) if b.incomplete => b.thinking.clone(),
            // A snapshot has the arguments closed; go on with the deltas if they are here.
            Some(Kind::ToolCall(b)) if b.incomplete && !self.ended => match self.blocks.get(index) {
                Some(own) if own.open => return own.clone(),
                _ => return Block { content, ..Default::default() },
            },
            _ => return Block { content, ..Default::default() },
        };
        Block { content, text: Some(text), open: true, ..Default::default() }
    }
}

impl Block {
    fn of(kind: Option<Kind>) -> Self {
        Self { content: AssistantContent { block: kind }, ..Default::default() }
    }

    fn whole(&self) -> AssistantContent {
        let mut content = self.content.clone();
        let Some(text) = &self.text else { return content };
        match &mut content.block {
            Some(Kind::Text(b)) => b.text = text.clone(),
            Some(Kind::Thinking(b)) => b.thinking = text.clone(),
            Some(Kind::ToolCall(b)) => {
                let closed = self.open || text.is_empty() || !b.arguments_error.is_empty();
                b.arguments_json = if closed { self.readable(text) } else { text.clone() }
            }
            Some(Kind::ProviderContent(_)) | None => {}
        }
        content
    }

    fn readable(&self, text: &str) -> String {
        match text.get(..self.valid) {
            Some(prefix) if self.valid > 0 => format!("{prefix}{}", self.closing),
            _ => "{}".into(),
        }
    }
}
