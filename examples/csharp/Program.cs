// Talks to llmd from C#: a program to copy from. See README.md.
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Google.Protobuf;
using Grpc.Core;
using Grpc.Core.Interceptors;
using Grpc.Net.Client;
using Llmd.Example;
using Llmd.V1;

const string usage = """
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

Console.OutputEncoding = Encoding.UTF8;
var flags = new Dictionary<string, string> { ["--addr"] = "127.0.0.1:50051" };
var rest = new Queue<string>(args);
while (rest.Count > 1 && rest.Peek().StartsWith("--")) flags[rest.Dequeue()] = rest.Dequeue();
var command = rest.Count > 0 ? rest.Dequeue() : "";
var arguments = rest.ToArray();
var wanted = command switch { "ask" or "tools" or "cancel" or "resume" => 2, "handoff" => 3, "vectors" => arguments.Length, _ => -1 };
if (wanted != arguments.Length)
{
    Console.Error.WriteLine(usage);
    return 2;
}

TimeSpan? deadline = flags.TryGetValue("--deadline", out var seconds)
    ? TimeSpan.FromSeconds(double.Parse(seconds, CultureInfo.InvariantCulture))
    : null;
using var channel = Connect(flags["--addr"], flags.GetValueOrDefault("--ca"));
var calls = channel.CreateCallInvoker();
if (flags.TryGetValue("--token-file", out var tokenFile))
{
    if (!flags.ContainsKey("--ca") && !Local(flags["--addr"]))
    {
        Console.Error.WriteLine("error: --token-file would send the token in the clear to another machine: use --ca as well");
        return 2;
    }
    var authorization = "Bearer " + File.ReadAllText(tokenFile).Trim();
    calls = calls.Intercept(headers =>
    {
        headers.Add("authorization", authorization);
        return headers;
    });
}
var chat = new Chat(new InferenceService.InferenceServiceClient(calls), deadline);
try
{
    if (command == "vectors")
    {
        await chat.VectorsAsync(arguments);
        return 0;
    }
    var prompt = arguments[^1];
    chat.Say(prompt == "-" ? Console.In.ReadToEnd() : prompt, flags.GetValueOrDefault("--image"));
    switch (command)
    {
        case "tools":
            await chat.ToolLoopAsync(arguments[0]);
            break;
        case "cancel":
            await chat.CancelledAsync(arguments[0]);
            break;
        case "resume":
            await chat.ResumedAsync(arguments[0]);
            break;
        default:
            await chat.AnswerAsync(arguments[0]);
            break;
    }
    if (command == "handoff" && !chat.Aborted)
    {
        chat.Say("Go on.");
        await chat.AnswerAsync(arguments[1]); // the same conversation, another model
    }
    return chat.Aborted ? 130 : 0;
}
catch (RpcException e)
{
    Console.Error.WriteLine($"error: {Chat.Describe(e)}");
    return 1;
}
catch (IncompleteStreamException e)
{
    Console.Error.WriteLine($"error: {e.Message}");
    return 1;
}
finally
{
    if (flags.TryGetValue("--save", out var file)) File.WriteAllBytes(file, chat.Context.ToByteArray());
}

// What stays on this machine: there a token may go without TLS.
static bool Local(string address)
{
    var host = address[..Math.Max(address.LastIndexOf(':'), 0)];
    return address.StartsWith("unix:") || host == "localhost" || (IPAddress.TryParse(host, out var ip) && IPAddress.IsLoopback(ip));
}

// Opens host:port or unix:/path, with TLS if ca is set.
static GrpcChannel Connect(string address, string? ca)
{
    var handler = new SocketsHttpHandler();
    if (address.StartsWith("unix:"))
    {
        var path = new UnixDomainSocketEndPoint(address["unix:".Length..]);
        handler.ConnectCallback = async (_, stop) =>
        {
            var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            try
            {
                await socket.ConnectAsync(path, stop);
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        };
        address = "localhost";
    }
    if (ca is not null)
    {
        var policy = new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
        policy.CustomTrustStore.ImportFromPemFile(ca);
        handler.SslOptions.CertificateChainPolicy = policy;
    }
    return GrpcChannel.ForAddress($"{(ca is null ? "http" : "https")}://{address}", new GrpcChannelOptions { HttpHandler = handler, DisposeHttpClient = true });
}
