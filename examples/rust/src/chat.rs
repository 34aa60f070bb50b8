//! One conversation with a model.

use std::error::Error;
use std::io::Write;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prost::Message as _;
use serde_json::Value;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_types::StatusExt;

use crate::Bearer;
use crate::accumulator::Accumulator;
use crate::llmd::inference_service_client::InferenceServiceClient;
use crate::llmd::stream_response::Event;
use crate::llmd::{
    AbortCause, AbortRequest, AssistantMessage, AttachRequest, Context, Generation, GetResponseRequest, ImageContent,
    Message, StopReason, StreamOptions, StreamRequest, StreamResponse, TextContent, Tool, ToolCall, ToolResultContent,
    ToolResultMessage, UserContent, UserMessage, abort_request, assistant_content, attach_request, get_response_request,
    image_content, message, tool_result_content, user_content,
};

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub struct Chat {
    pub client: InferenceServiceClient<InterceptedService<Channel, Bearer>>,
    pub deadline: Option<Duration>,
    pub context: Context,
    /// The person pressed Ctrl-C.
    pub aborted: bool,
}

impl Chat {
    pub fn say(&mut self, text: String, image: Option<Vec<u8>>) {
        let text = user_content::Block::Text(TextContent { text, ..Default::default() });
        let mut content = vec![UserContent { block: Some(text) }];
        if let Some(data) = image {
            let image = ImageContent { source: Some(image_content::Source::Data(data)), mime_type: "image/png".into() };
            content.push(UserContent { block: Some(user_content::Block::Image(image)) });
        }
        self.push(message::Message::User(UserMessage { content, create_time: None }));
    }

    fn push(&mut self, message: message::Message) {
        self.context.messages.push(Message { message: Some(message) });
    }

    fn request(&self, model: &str) -> StreamRequest {
        let generation = Generation { model: model.into(), context: Some(self.context.clone()), ..Default::default() };
        // With a deadline, the partial arrives this long before it.
        let options =
            StreamOptions { deadline_margin: Some(prost_types::Duration { seconds: 1, nanos: 0 }), ..Default::default() };
        StreamRequest { generation: Some(generation), request_id: uuid::Uuid::new_v4().to_string(), options: Some(options) }
    }

    /// Streams an answer to the terminal and appends it to the conversation, whole or not.
    pub async fn answer(&mut self, model: &str) -> Result<AssistantMessage> {
        let mut fold = Accumulator::new();
        let ended = self.stream(model, &mut fold).await;
        println!();
        let message = fold.message();
        if !message.response_id.is_empty() {
            // As it came: signatures, order and argument text are what providers check.
            self.push(message::Message::Assistant(message.clone()));
        }
        ended?;
        if !fold.ended {
            return Err("the stream ended without a terminal event".into());
        }
        self.aborted = message.stop_reason() == StopReason::Aborted;
        Ok(message)
    }

    async fn stream(&mut self, model: &str, fold: &mut Accumulator) -> std::result::Result<(), Status> {
        let request = self.request(model);
        let id = request.request_id.clone();
        let mut request = Request::new(request);
        if let Some(deadline) = self.deadline {
            request.set_timeout(deadline);
        }
        let mut events = self.client.stream(request).await?.into_inner();
        loop {
            let event = tokio::select! {
                event = events.message() => event?,
                _ = tokio::signal::ctrl_c() => {
                    self.abort(&id).await;
                    continue;
                }
            };
            let Some(event) = event else { return Ok(()) };
            fold.add(event.clone());
            show(&event, fold);
        }
    }

    /// Ends the answer while its stream stays open: it gets an aborted event with what there was.
    async fn abort(&mut self, request_id: &str) {
        let target = Some(abort_request::Target::RequestId(request_id.into()));
        if let Err(status) = self.client.abort(AbortRequest { target, reason: "Ctrl-C".into() }).await {
            eprintln!("abort: {}", describe(&status));
        }
    }

    /// Answers tool calls until the model needs no more.
    pub async fn tool_loop(&mut self, model: &str) -> Result<()> {
        self.context.tools.push(Tool {
            name: "weather".into(),
            description: "The weather in a city now.".into(),
            parameters_json_schema: r#"{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}"#
                .into(),
            ..Default::default()
        });
        loop {
            let message = self.answer(model).await?;
            if message.stop_reason() != StopReason::ToolUse {
                return Ok(());
            }
            for content in message.content {
                if let Some(assistant_content::Block::ToolCall(call)) = content.block {
                    self.push(message::Message::ToolResult(weather(call)));
                }
            }
        }
    }

    /// The other way to stop: the call is cancelled, which shows nothing more, and llmd keeps what there was.
    pub async fn cancelled(&mut self, model: &str) -> Result<()> {
        let mut events = self.client.stream(self.request(model)).await?.into_inner();
        let mut response_id = String::new();
        while let Some(event) = events.message().await? {
            match event.event {
                Some(Event::Started(started)) => response_id = started.response_id,
                Some(Event::TextDelta(_)) => break,
                _ => {}
            }
        }
        drop(events); // this cancels the call
        let found = self
            .client
            .get_response(GetResponseRequest {
                target: Some(get_response_request::Target::ResponseId(response_id)),
                wait_duration: Some(prost_types::Duration { seconds: 5, nanos: 0 }),
            })
            .await?;
        let message = found.into_inner().message.unwrap_or_default();
        println!("cancelled: {}", message.stop_reason().as_str_name());
        self.push(message::Message::Assistant(message));
        Ok(())
    }

    /// What to do when a connection is lost: the response goes on without a reader for as long as was asked for, and
    /// Attach takes it up behind the last event seen.
    pub async fn resumed(&mut self, model: &str) -> Result<()> {
        let mut request = self.request(model);
        let detached = Some(prost_types::Duration { seconds: 60, nanos: 0 });
        request.options = Some(StreamOptions { detached, ..Default::default() });
        let id = request.request_id.clone();
        let (mut fold, mut last) = (Accumulator::new(), 0);
        let mut events = self.client.stream(request).await?.into_inner();
        while let Some(event) = events.message().await? {
            fold.add(event.clone());
            show(&event, &fold);
            last = event.sequence_number;
            if matches!(event.event, Some(Event::TextDelta(_))) {
                break;
            }
        }
        drop(events); // as a network may
        let target = Some(attach_request::Target::RequestId(id));
        let attach = AttachRequest { target, last_sequence_number: Some(last), ..Default::default() };
        let mut events = self.client.attach(attach).await?.into_inner();
        while let Some(event) = events.message().await? {
            fold.add(event.clone());
            show(&event, &fold);
        }
        println!();
        if !fold.ended {
            return Err("the stream ended without a terminal event".into());
        }
        self.push(message::Message::Assistant(fold.message()));
        Ok(())
    }

    /// Prints what the test server's streams fold to.
    pub async fn vectors(&mut self, names: &[String]) -> Result<()> {
        for name in names {
            let mut fold = Accumulator::new();
            let mut events = self.client.stream(self.request(&format!("vectors/{name}"))).await?.into_inner();
            // An error is the status of a stream that ended with an error event.
            while let Ok(Some(event)) = events.message().await {
                fold.add(event);
            }
            match fold.ended {
                true => println!("{name} {}", BASE64_STANDARD.encode(fold.message().encode_to_vec())),
                false => println!("{name} incomplete stream"),
            }
        }
        Ok(())
    }
}

/// Prints an event: the answer to the output, the rest beside it.
fn show(event: &StreamResponse, fold: &Accumulator) {
    match &event.event {
        Some(Event::TextDelta(e)) => {
            print!("{}", e.delta);
            let _ = std::io::stdout().flush();
        }
        Some(Event::ThinkingDelta(e)) => eprint!("{}", e.delta),
        Some(Event::ThinkingEnd(_)) => eprintln!(),
        // What can be read so far, by any JSON parser. To look at, not to act on.
        Some(Event::ToolCallDelta(e)) => match serde_json::from_str::<Value>(&fold.arguments(e.content_index)) {
            Ok(known) => eprintln!("partial {known}"),
            Err(error) => eprintln!("partial: {error}"),
        },
        Some(Event::Aborted(e)) => {
            let cause = AbortCause::try_from(e.cause).unwrap_or_default();
            eprintln!("aborted: {} {}", cause.as_str_name(), e.reason)
        }
        _ => {}
    }
}

/// Runs the tool. Calls that the model did not finish are not run.
fn weather(call: ToolCall) -> ToolResultMessage {
    let text = match serde_json::from_str::<Value>(&call.arguments_json) {
        Ok(arguments) if call.arguments_error.is_empty() => {
            format!("22 °C and sunny in {}", arguments["city"].as_str().unwrap_or_default())
        }
        _ => format!("unreadable arguments: {}", call.arguments_error),
    };
    let block = tool_result_content::Block::Text(TextContent { text, ..Default::default() });
    ToolResultMessage {
        tool_call_id: call.id,
        tool_name: call.name,
        is_error: !call.arguments_error.is_empty(),
        content: vec![ToolResultContent { block: Some(block) }],
        ..Default::default()
    }
}

/// Says what an error means: the reason is for programs, the delay is there if trying again makes sense.
pub fn describe(status: &Status) -> String {
    let reason = status.get_details_error_info().map(|info| info.reason + " ").unwrap_or_default();
    let retry = status.get_details_retry_info().and_then(|info| info.retry_delay);
    let retry = retry.map(|delay| format!("; retry in {} s", delay.as_secs_f64())).unwrap_or_default();
    let code: Code = status.code();
    format!("{reason}({code:?}): {}{retry}", status.message())
}
