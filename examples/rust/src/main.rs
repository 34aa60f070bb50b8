//! Talks to llmd from Rust: a program to copy from. See README.md.

mod accumulator;
mod chat;

/// The stubs, as build.rs generates them.
mod llmd {
    tonic::include_proto!("llmd.v1");
}

use std::collections::HashMap;
use std::io::Read;
use std::net::IpAddr;
use std::process::ExitCode;
use std::time::Duration;

use prost::Message as _;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use chat::{Chat, Result, describe};
use llmd::inference_service_client::InferenceServiceClient;

const USAGE: &str = "\
usage: client [flags] COMMAND

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

A PROMPT of - is read from the standard input.
";

/// Opens host:port or unix:/path, with TLS if ca is set.
fn connect(address: &str, ca: Option<&String>) -> Result<Channel> {
    let endpoint = match ca {
        None if address.starts_with("unix:") => Endpoint::from_shared(address.to_string())?,
        None => Endpoint::from_shared(format!("http://{address}"))?,
        Some(file) => Endpoint::from_shared(format!("https://{address}"))?
            .tls_config(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(std::fs::read(file)?)))?,
    };
    // Events are small and may come faster than they are read. With tonic's own window
    // of 2 MiB, h2 takes a pile of them for an attack and closes the connection
    // (too_many_data_frames); with this one llmd waits, and merges what waits.
    Ok(endpoint.initial_stream_window_size(64 * 1024).connect_lazy())
}

/// Sends a token with each call, if there is one.
#[derive(Clone)]
pub struct Bearer(Option<MetadataValue<Ascii>>);

impl Bearer {
    /// Reads the token of a file. It goes without TLS only to this machine.
    fn read(file: Option<&String>, address: &str, secure: bool) -> Result<Self> {
        let Some(file) = file else { return Ok(Self(None)) };
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
        let local = address.starts_with("unix:") || host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        if !secure && !local {
            return Err("--token-file would send the token in the clear to another machine: use --ca as well".into());
        }
        Ok(Self(Some(format!("Bearer {}", std::fs::read_to_string(file)?.trim()).parse()?)))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if let Some(token) = &self.0 {
            request.metadata_mut().insert("authorization", token.clone());
        }
        Ok(request)
    }
}

async fn run(chat: &mut Chat, command: &str, args: &[String], image: Option<&String>) -> Result<()> {
    if command == "vectors" {
        return chat.vectors(args).await;
    }
    let mut prompt = args[args.len() - 1].clone();
    if prompt == "-" {
        prompt.clear();
        std::io::stdin().read_to_string(&mut prompt)?;
    }
    chat.say(prompt, image.map(std::fs::read).transpose()?);
    match command {
        "tools" => return chat.tool_loop(&args[0]).await,
        "cancel" => return chat.cancelled(&args[0]).await,
        "resume" => return chat.resumed(&args[0]).await,
        _ => chat.answer(&args[0]).await?,
    };
    if command == "handoff" && !chat.aborted {
        chat.say("Go on.".into(), None);
        chat.answer(&args[1]).await?; // the same conversation, another model
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let mut flags = HashMap::new();
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    while args.len() >= 2 && args[0].starts_with("--") {
        let value = args.remove(1);
        flags.insert(args.remove(0), value);
    }
    let command = if args.is_empty() { String::new() } else { args.remove(0) };
    let right = match command.as_str() {
        "ask" | "tools" | "cancel" | "resume" => args.len() == 2,
        "handoff" => args.len() == 3,
        command => command == "vectors",
    };
    if !right {
        eprint!("{USAGE}");
        return Ok(ExitCode::from(2));
    }
    let address = flags.get("--addr").map_or("127.0.0.1:50051", String::as_str);
    let channel = connect(address, flags.get("--ca"))?;
    let deadline = flags.get("--deadline").map(|s| s.parse()).transpose()?.map(Duration::from_secs_f64);
    let bearer = Bearer::read(flags.get("--token-file"), address, flags.contains_key("--ca"))?;
    let client = InferenceServiceClient::with_interceptor(channel, bearer);
    let mut chat = Chat { client, deadline, context: llmd::Context::default(), aborted: false };
    let result = run(&mut chat, &command, &args, flags.get("--image")).await;
    if let Some(file) = flags.get("--save") {
        std::fs::write(file, chat.context.encode_to_vec())?; // however it ended
    }
    if let Err(error) = result {
        match error.downcast_ref::<Status>() {
            Some(status) => eprintln!("error: {}", describe(status)),
            None => eprintln!("error: {error}"),
        }
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::from(if chat.aborted { 130 } else { 0 }))
}
