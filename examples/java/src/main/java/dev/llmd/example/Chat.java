package dev.llmd.example;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.protobuf.ByteString;
import dev.llmd.v1.AbortRequest;
import dev.llmd.v1.AssistantContent;
import dev.llmd.v1.AssistantMessage;
import dev.llmd.v1.AttachRequest;
import dev.llmd.v1.Context;
import dev.llmd.v1.Generation;
import dev.llmd.v1.GetResponseRequest;
import dev.llmd.v1.ImageContent;
import dev.llmd.v1.InferenceServiceGrpc.InferenceServiceBlockingStub;
import dev.llmd.v1.StopReason;
import dev.llmd.v1.StreamOptions;
import dev.llmd.v1.StreamRequest;
import dev.llmd.v1.StreamResponse;
import dev.llmd.v1.TextContent;
import dev.llmd.v1.Tool;
import dev.llmd.v1.ToolCall;
import dev.llmd.v1.ToolResultContent;
import dev.llmd.v1.ToolResultMessage;
import dev.llmd.v1.UserContent;
import dev.llmd.v1.UserMessage;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Iterator;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** One conversation. */
final class Chat {
  private static final Tool WEATHER = Tool.newBuilder()
      .setName("weather")
      .setDescription("The weather in a city now.")
      .setParametersJsonSchema("""
          {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}""")
      .build();

  final Context.Builder context = Context.newBuilder();
  final CountDownLatch finished = new CountDownLatch(1); // by the program, after an abort
  boolean aborted; // the person pressed Ctrl-C

  private final InferenceServiceBlockingStub stub;
  private final String deadline; // seconds, or null

  Chat(InferenceServiceBlockingStub stub, String deadline) {
    this.stub = stub;
    this.deadline = deadline;
  }

  void say(String text, String image) throws IOException {
    UserMessage.Builder said = UserMessage.newBuilder().addContent(UserContent.newBuilder().setText(text(text)));
    if (image != null) {
      ByteString data = ByteString.copyFrom(Files.readAllBytes(Path.of(image)));
      said.addContent(UserContent.newBuilder().setImage(ImageContent.newBuilder().setData(data).setMimeType("image/png")));
    }
    context.addMessagesBuilder().setUser(said);
  }

  private static TextContent text(String text) {
    return TextContent.newBuilder().setText(text).build();
  }

  private StreamRequest request(String model) {
    return StreamRequest.newBuilder()
        .setRequestId(UUID.randomUUID().toString())
        .setGeneration(Generation.newBuilder().setModel(model).setContext(context))
        // With a deadline, the partial arrives this long before it.
        .setOptions(StreamOptions.newBuilder().setDeadlineMargin(Client.seconds(1)))
        .build();
  }

  /** Streams an answer to the terminal and appends it to the conversation, whole or not. */
  AssistantMessage answer(String model) {
    StreamRequest request = request(model);
    Thread interrupted = new Thread(() -> abort(request.getRequestId()));
    Runtime.getRuntime().addShutdownHook(interrupted); // Ctrl-C
    Accumulator fold = new Accumulator();
    InferenceServiceBlockingStub limited = deadline == null
        ? stub
        : stub.withDeadlineAfter((long) (Double.parseDouble(deadline) * 1000), TimeUnit.MILLISECONDS);
    try {
      for (Iterator<StreamResponse> events = limited.stream(request); events.hasNext(); ) {
        StreamResponse event = events.next();
        fold.add(event);
        show(event, fold);
      }
      if (!fold.ended()) {
        throw new IncompleteStreamException();
      }
    } finally {
      System.out.println();
      if (!fold.message().getResponseId().isEmpty()) {
        // As it came: signatures, order and argument text are what providers check.
        context.addMessagesBuilder().setAssistant(fold.message());
      }
    }
    aborted = fold.message().getStopReason() == StopReason.STOP_REASON_ABORTED;
    if (!aborted) {
      Runtime.getRuntime().removeShutdownHook(interrupted);
    }
    return fold.message();
  }

  /** Ends the answer while its stream stays open: it gets an aborted event with what there was. */
  private void abort(String requestId) {
    if (finished.getCount() == 0) {
      return; // the program ends by itself
    }
    try {
      stub.abort(AbortRequest.newBuilder().setRequestId(requestId).setReason("Ctrl-C").build());
      finished.await(5, TimeUnit.SECONDS); // the partial is kept before the program goes
    } catch (StatusRuntimeException e) {
      System.err.println("abort: " + Errors.describe(e));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Answers tool calls until the model needs no more. */
  void toolLoop(String model) {
    context.addTools(WEATHER);
    AssistantMessage message = answer(model);
    while (message.getStopReason() == StopReason.STOP_REASON_TOOL_USE) {
      for (AssistantContent block : message.getContentList()) {
        if (block.hasToolCall()) {
          context.addMessagesBuilder().setToolResult(weather(block.getToolCall()));
        }
      }
      message = answer(model);
    }
  }

  /** The other way to stop: the call is cancelled, which shows nothing more, and llmd keeps what there was. */
  void cancelled(String model) {
    io.grpc.Context.CancellableContext call = io.grpc.Context.current().withCancellation();
    String[] responseId = {""};
    try {
      call.run(() -> stub.stream(request(model)).forEachRemaining(event -> {
        if (event.hasStarted()) {
          responseId[0] = event.getStarted().getResponseId();
        } else if (event.hasTextDelta()) {
          call.cancel(null);
        }
      }));
    } catch (StatusRuntimeException e) {
      if (e.getStatus().getCode() != Status.Code.CANCELLED) {
        throw e;
      }
    }
    AssistantMessage found = stub.getResponse(GetResponseRequest.newBuilder()
        .setResponseId(responseId[0]).setWaitDuration(Client.seconds(5)).build()).getMessage();
    context.addMessagesBuilder().setAssistant(found);
    System.out.println("cancelled: " + found.getStopReason());
  }

  /**
   * What to do when a connection is lost: the response goes on without a reader for as long as was asked for, and
   * attach takes it up behind the last event seen.
   */
  void resumed(String model) {
    StreamRequest request = request(model).toBuilder()
        .setOptions(StreamOptions.newBuilder().setDetached(Client.seconds(60))).build();
    Accumulator fold = new Accumulator();
    int[] last = {0};
    io.grpc.Context.CancellableContext call = io.grpc.Context.current().withCancellation();
    call.run(() -> {
      for (Iterator<StreamResponse> events = stub.stream(request); events.hasNext(); ) {
        StreamResponse event = events.next();
        fold.add(event);
        show(event, fold);
        last[0] = event.getSequenceNumber();
        if (event.hasTextDelta()) {
          call.cancel(null); // as a network may
          return;
        }
      }
    });
    stub.attach(AttachRequest.newBuilder().setRequestId(request.getRequestId()).setLastSequenceNumber(last[0]).build())
        .forEachRemaining(event -> {
          fold.add(event);
          show(event, fold);
        });
    System.out.println();
    if (!fold.ended()) {
      throw new IncompleteStreamException();
    }
    context.addMessagesBuilder().setAssistant(fold.message());
  }

  /** Prints what the test server's streams fold to. */
  void vectors(String[] names) {
    for (String name : names) {
      Accumulator fold = new Accumulator();
      try {
        stub.stream(request("vectors/" + name)).forEachRemaining(fold::add);
      } catch (StatusRuntimeException e) {
        // The status of a stream that ended with an error event.
      }
      String data = Base64.getEncoder().encodeToString(fold.message().toByteArray());
      System.out.println(name + " " + (fold.ended() ? data : "incomplete stream"));
    }
  }

  /** Prints an event: the answer to the output, the rest beside it. */
  private static void show(StreamResponse event, Accumulator fold) {
    switch (event.getEventCase()) {
      case TEXT_DELTA -> {
        System.out.print(event.getTextDelta().getDelta());
        System.out.flush();
      }
      case THINKING_DELTA -> System.err.print(event.getThinkingDelta().getDelta());
      case THINKING_END -> System.err.println();
      case TOOL_CALL_DELTA -> {
        // What can be read so far, by any JSON parser. To look at, not to act on.
        JsonObject known = JsonParser.parseString(fold.arguments(event.getToolCallDelta().getContentIndex())).getAsJsonObject();
        System.err.println("partial " + known);
      }
      case ABORTED -> System.err.println("aborted: " + event.getAborted().getCause() + " " + event.getAborted().getReason());
      default -> {}
    }
  }

  /** Runs the tool. Calls that the model did not finish are not run. */
  private static ToolResultMessage weather(ToolCall call) {
    boolean broken = !call.getArgumentsError().isEmpty();
    String text;
    if (broken) {
      text = "unreadable arguments: " + call.getArgumentsError();
    } else {
      JsonObject arguments = JsonParser.parseString(call.getArgumentsJson()).getAsJsonObject();
      text = "22 °C and sunny in " + (arguments.has("city") ? arguments.get("city").getAsString() : "");
    }
    return ToolResultMessage.newBuilder()
        .setToolCallId(call.getId()).setToolName(call.getName()).setIsError(broken)
        .addContent(ToolResultContent.newBuilder().setText(text(text)))
        .build();
  }
}
