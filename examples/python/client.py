"""Talks to llmd from Python: a program to copy from. See README.md."""

import argparse
import asyncio
import base64
import json
import re
import signal
import sys
import uuid

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from accumulator import Accumulator, IncompleteStream
from llmd.v1 import content_pb2 as content
from llmd.v1 import inference_service_pb2 as llmd
from llmd.v1 import inference_service_pb2_grpc as llmd_grpc

WEATHER = content.Tool(
    name="weather",
    description="The weather in a city now.",
    parameters_json_schema='{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}',
)


def connect(address: str, ca: str | None) -> grpc.aio.Channel:
    """Opens host:port or unix:/path, with TLS if ca is set."""
    if ca is None:
        return grpc.aio.insecure_channel(address)
    with open(ca, "rb") as f:
        return grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(f.read()))


def bearer(token_file: str | None, address: str, secure: bool) -> tuple[tuple[str, str], ...]:
    """The metadata that goes with each call: the token of a file, but never in the clear to another machine."""
    if token_file is None:
        return ()
    if not secure and not re.fullmatch(r"unix:.*|(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+", address):
        sys.exit("error: --token-file would send the token in the clear to another machine: use --ca as well")
    with open(token_file, encoding="ascii") as f:
        return (("authorization", "Bearer " + f.read().strip()),)


class Chat:
    """One conversation."""

    def __init__(self, stub: llmd_grpc.InferenceServiceStub, deadline: float | None, metadata: tuple = ()):
        self.stub, self.deadline, self.metadata = stub, deadline, metadata
        self.context = content.Context()
        self.aborted = False  # the person pressed Ctrl-C

    def say(self, text: str, image: str | None = None):
        said = [content.UserContent(text=content.TextContent(text=text))]
        if image:
            with open(image, "rb") as f:
                said.append(content.UserContent(image=content.ImageContent(data=f.read(), mime_type="image/png")))
        self.context.messages.add(user=content.UserMessage(content=said))

    def request(self, model: str) -> llmd.StreamRequest:
        generation = llmd.Generation(model=model, context=self.context)
        # With a deadline, the partial arrives this long before it.
        options = llmd.StreamOptions(deadline_margin=Duration(seconds=1))
        return llmd.StreamRequest(request_id=str(uuid.uuid4()), generation=generation, options=options)

    async def answer(self, model: str) -> content.AssistantMessage:
        """Streams an answer to the terminal and appends it to the conversation, whole or not."""
        request = self.request(model)
        call = self.stub.Stream(request, timeout=self.deadline, metadata=self.metadata)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, lambda: asyncio.ensure_future(self.abort(request.request_id)))
        fold = Accumulator()
        try:
            async for event in call:
                fold.add(event)
                show(event, fold)
            if not fold.ended:
                raise IncompleteStream
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            print()
            message = fold.message()
            if message.response_id:
                # As it came: signatures, order and argument text are what providers check.
                self.context.messages.add(assistant=message)
        self.aborted = message.stop_reason == content.STOP_REASON_ABORTED
        return message

    async def abort(self, request_id: str):
        """Ends the answer while its stream stays open: it gets an aborted event with what there was."""
        try:
            await self.stub.Abort(
                llmd.AbortRequest(request_id=request_id, reason="Ctrl-C"), metadata=self.metadata
            )
        except grpc.aio.AioRpcError as error:
            print("abort:", describe(error), file=sys.stderr)

    async def tool_loop(self, model: str):
        """Answers tool calls until the model needs no more."""
        self.context.tools.append(WEATHER)
        while (message := await self.answer(model)).stop_reason == content.STOP_REASON_TOOL_USE:
            for block in message.content:
                if block.WhichOneof("block") == "tool_call":
                    self.context.messages.add(tool_result=weather(block.tool_call))

    async def cancelled(self, model: str):
        """The other way to stop: the call is cancelled, which shows nothing more, and llmd keeps what there was."""
        call = self.stub.Stream(self.request(model), metadata=self.metadata)
        response_id = ""
        try:
            async for event in call:
                if event.HasField("started"):
                    response_id = event.started.response_id
                elif event.HasField("text_delta"):
                    call.cancel()
        except asyncio.CancelledError:
            pass
        found = await self.stub.GetResponse(
            llmd.GetResponseRequest(response_id=response_id, wait_duration=Duration(seconds=5)),
            metadata=self.metadata,
        )
        self.context.messages.add(assistant=found.message)
        print("cancelled:", content.StopReason.Name(found.message.stop_reason))

    async def resumed(self, model: str):
        """What to do when a connection is lost: the response goes on without a reader for as long as was asked
        for, and Attach takes it up behind the last event seen."""
        request = self.request(model)
        request.options.CopyFrom(llmd.StreamOptions(detached=Duration(seconds=60)))
        fold, last = Accumulator(), 0
        call = self.stub.Stream(request, metadata=self.metadata)
        async for event in call:
            fold.add(event)
            show(event, fold)
            last = event.sequence_number
            if event.HasField("text_delta"):
                call.cancel()  # as a network may
                break
        attach = llmd.AttachRequest(request_id=request.request_id, last_sequence_number=last)
        async for event in self.stub.Attach(attach, metadata=self.metadata):
            fold.add(event)
            show(event, fold)
        print()
        if not fold.ended:
            raise IncompleteStream
        self.context.messages.add(assistant=fold.message())

    async def vectors(self, names: list[str]):
        """Prints what the test server's streams fold to."""
        for name in names:
            fold = Accumulator()
            try:
                async for event in self.stub.Stream(self.request("vectors/" + name), metadata=self.metadata):
                    fold.add(event)
            except grpc.aio.AioRpcError:
                pass  # the status of a stream that ended with an error event
            data = base64.b64encode(fold.message().SerializeToString()).decode()
            print(name, data if fold.ended else "incomplete stream")


def show(event: llmd.StreamResponse, fold: Accumulator):
    """Prints an event: the answer to the output, the rest beside it."""
    match event.WhichOneof("event"):
        case "text_delta":
            print(event.text_delta.delta, end="", flush=True)
        case "thinking_delta":
            print(event.thinking_delta.delta, end="", file=sys.stderr, flush=True)
        case "thinking_end":
            print(file=sys.stderr)
        case "tool_call_delta":
            # What can be read so far, by any JSON parser. To look at, not to act on.
            known = json.loads(fold.arguments(event.tool_call_delta.content_index))
            print("partial", json.dumps(known), file=sys.stderr)
        case "aborted":
            print("aborted:", llmd.AbortCause.Name(event.aborted.cause), event.aborted.reason, file=sys.stderr)


def weather(call: content.ToolCall) -> content.ToolResultMessage:
    """Runs the tool. Calls that the model did not finish are not run."""
    if call.arguments_error:
        text = "unreadable arguments: " + call.arguments_error
    else:
        text = "22 °C and sunny in " + json.loads(call.arguments_json).get("city", "")
    return content.ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        is_error=bool(call.arguments_error),
        content=[content.ToolResultContent(text=content.TextContent(text=text))],
    )


def describe(error: grpc.aio.AioRpcError) -> str:
    """Says what an error means: the reason is for programs, the delay is there if trying again makes sense."""
    reason, retry = "", ""
    status = rpc_status.from_call(error)
    for detail in status.details if status else []:
        info, delay = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
        if detail.Unpack(info):
            reason = info.reason + " "
        elif detail.Unpack(delay):
            retry = f"; retry in {delay.retry_delay.ToTimedelta().total_seconds():g} s"
    return f"{reason}({error.code().name}): {error.details()}{retry}"


async def run(args: argparse.Namespace) -> int:
    metadata = bearer(args.token_file, args.addr, args.ca is not None)
    async with connect(args.addr, args.ca) as channel:
        chat = Chat(llmd_grpc.InferenceServiceStub(channel), args.deadline, metadata)
        try:
            if args.command == "vectors":
                await chat.vectors(args.name)
                return 0
            chat.say(sys.stdin.read() if args.prompt == "-" else args.prompt, args.image)
            if args.command == "tools":
                await chat.tool_loop(args.model)
            elif args.command == "cancel":
                await chat.cancelled(args.model)
            elif args.command == "resume":
                await chat.resumed(args.model)
            else:
                await chat.answer(args.model)
            if args.command == "handoff" and not chat.aborted:
                chat.say("Go on.")
                await chat.answer(args.other)  # the same conversation, another model
        except (grpc.aio.AioRpcError, IncompleteStream) as error:
            said = describe(error) if isinstance(error, grpc.aio.AioRpcError) else "the stream broke off"
            print("error:", said, file=sys.stderr)
            return 1
        finally:
            if args.save:
                with open(args.save, "wb") as f:
                    f.write(chat.context.SerializeToString())
        return 130 if chat.aborted else 0


def main():
    parser = argparse.ArgumentParser(description="Talks to llmd.")
    parser.add_argument("--addr", default="127.0.0.1:50051", help="host:port or unix:/path")
    parser.add_argument("--ca", help="PEM file of the authority to trust: use TLS")
    parser.add_argument("--token-file", help="file with a bearer token for llmd")
    parser.add_argument("--image", help="PNG file to show the model")
    parser.add_argument("--save", help="file for the conversation, a llmd.v1.Context")
    parser.add_argument("--deadline", type=float, help="seconds that an answer may take")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help in {
        "ask": "stream an answer; Ctrl-C aborts it and keeps what there is",
        "tools": "let the model call a tool until it has its answer",
        "handoff": "ask one model, and another to go on",
        "cancel": "cancel after the first words, then fetch the partial",
        "resume": "lose the connection after the first words, and go on",
    }.items():
        command = commands.add_parser(name, help=help)
        command.add_argument("model")
        if name == "handoff":
            command.add_argument("other")
        command.add_argument("prompt", help="- reads the standard input")
    vectors = commands.add_parser("vectors", help="fold the golden streams of a test server")
    vectors.add_argument("name", nargs="*")
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
