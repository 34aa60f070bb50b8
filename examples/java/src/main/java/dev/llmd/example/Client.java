package dev.llmd.example;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.Duration;
import dev.llmd.v1.InferenceServiceGrpc;
import io.grpc.ClientInterceptor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.StatusRuntimeException;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollDomainSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.unix.DomainSocketAddress;
import io.grpc.stub.MetadataUtils;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** Talks to llmd from Java: a program to copy from. See README.md. */
public final class Client {
  private static final String USAGE = """
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
      """;

  private static final Map<String, Integer> ARGUMENTS =
      Map.of("ask", 2, "tools", 2, "handoff", 3, "cancel", 2, "resume", 2, "vectors", -1);

  /** What stays on this machine: there a token may go without TLS. */
  private static final Pattern LOCAL =
      Pattern.compile("unix:.*|(localhost|127(\\.\\d{1,3}){3}|\\[::1\\]):\\d+");

  private Client() {}

  public static void main(String[] args) throws Exception {
    System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.out), false, UTF_8));
    System.setErr(new PrintStream(new FileOutputStream(FileDescriptor.err), true, UTF_8));
    Map<String, String> flags = new HashMap<>(Map.of("addr", "127.0.0.1:50051"));
    ArrayDeque<String> rest = new ArrayDeque<>(Arrays.asList(args));
    while (!rest.isEmpty() && rest.peek().startsWith("--")) {
      flags.put(rest.poll().substring(2), rest.isEmpty() ? "" : rest.poll());
    }
    String command = rest.isEmpty() ? "" : rest.poll();
    int wanted = ARGUMENTS.getOrDefault(command, -2);
    if (wanted == -2 || wanted >= 0 && wanted != rest.size()) {
      System.err.print(USAGE);
      System.exit(2);
    }
    if (flags.containsKey("token-file") && !flags.containsKey("ca") && !LOCAL.matcher(flags.get("addr")).matches()) {
      System.err.println("error: --token-file would send the token in the clear to another machine: use --ca as well");
      System.exit(2);
    }
    ManagedChannel channel = connect(flags.get("addr"), flags.get("ca"));
    InferenceServiceGrpc.InferenceServiceBlockingStub stub = InferenceServiceGrpc.newBlockingStub(channel);
    if (flags.containsKey("token-file")) {
      stub = stub.withInterceptors(bearer(flags.get("token-file")));
    }
    Chat chat = new Chat(stub, flags.get("deadline"));
    int code = run(chat, command, rest.toArray(String[]::new), flags.get("image"));
    if (flags.containsKey("save")) {
      Files.write(Path.of(flags.get("save")), chat.context.build().toByteArray());
    }
    System.out.flush();
    chat.finished.countDown();
    System.exit(chat.aborted ? 130 : code);
  }

  private static int run(Chat chat, String command, String[] args, String image) throws IOException {
    try {
      if (command.equals("vectors")) {
        chat.vectors(args);
        return 0;
      }
      String prompt = args[args.length - 1];
      chat.say(prompt.equals("-") ? new String(System.in.readAllBytes(), UTF_8) : prompt, image);
      switch (command) {
        case "tools" -> chat.toolLoop(args[0]);
        case "cancel" -> chat.cancelled(args[0]);
        case "resume" -> chat.resumed(args[0]);
        default -> chat.answer(args[0]);
      }
      if (command.equals("handoff") && !chat.aborted) {
        chat.say("Go on.", null);
        chat.answer(args[1]); // the same conversation, another model
      }
      return 0;
    } catch (StatusRuntimeException | IncompleteStreamException e) {
      System.err.println("error: " + Errors.describe(e));
      return 1;
    }
  }

  /** Opens host:port or unix:/path, with TLS if ca is set. */
  private static ManagedChannel connect(String address, String ca) throws IOException {
    if (address.startsWith("unix:")) {
      return NettyChannelBuilder.forAddress(new DomainSocketAddress(address.substring("unix:".length())))
          .channelType(EpollDomainSocketChannel.class)
          .eventLoopGroup(new EpollEventLoopGroup(1))
          .overrideAuthority("localhost")
          .usePlaintext()
          .build();
    }
    var secure = ca == null
        ? InsecureChannelCredentials.create()
        : TlsChannelCredentials.newBuilder().trustManager(new File(ca)).build();
    return Grpc.newChannelBuilder(address, secure).build();
  }

  /** Sends the token of a file with each call. */
  private static ClientInterceptor bearer(String file) throws IOException {
    Metadata headers = new Metadata();
    headers.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
        "Bearer " + Files.readString(Path.of(file)).strip());
    return MetadataUtils.newAttachHeadersInterceptor(headers);
  }

  /** Seconds as protobuf has them. */
  static Duration seconds(int seconds) {
    return Duration.newBuilder().setSeconds(seconds).build();
  }
}
