using System.Text.Json;
using Google.Protobuf;
using Google.Protobuf.WellKnownTypes;
using Google.Rpc;
using Grpc.Core;
using Llmd.V1;

namespace Llmd.Example;

/// <summary>One conversation.</summary>
public sealed class Chat(InferenceService.InferenceServiceClient client, TimeSpan? deadline)
{
    private static readonly Tool Weather = new()
    {
        Name = "weather",
        Description = "The weather in a city now.",
        ParametersJsonSchema = """{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}""",
    };

    public Context Context { get; } = new();

    /// <summary>The person pressed Ctrl-C.</summary>
    public bool Aborted { get; private set; }

    public void Say(string text, string? image = null)
    {
        var said = new UserMessage { Content = { new UserContent { Text = new() { Text = text } } } };
        if (image is not null)
        {
            var data = ByteString.CopyFrom(File.ReadAllBytes(image));
            said.Content.Add(new UserContent { Image = new() { Data = data, MimeType = "image/png" } });
        }
        Context.Messages.Add(new Message { User = said });
    }

    private StreamRequest Request(string model) => new()
    {
        RequestId = Guid.NewGuid().ToString(),
        Generation = new() { Model = model, Context = Context },
        // With a deadline, the partial arrives this long before it.
        Options = new() { DeadlineMargin = Duration.FromTimeSpan(TimeSpan.FromSeconds(1)) },
    };

    /// <summary>Streams an answer to the terminal and appends it to the conversation, whole or not.</summary>
    public async Task<AssistantMessage> AnswerAsync(string model)
    {
        var request = Request(model);
        using var call = client.Stream(request, deadline: DateTime.UtcNow + deadline);
        ConsoleCancelEventHandler interrupted = (_, e) =>
        {
            e.Cancel = true; // the program goes on, and reads what there is
            _ = AbortAsync(request.RequestId);
        };
        Console.CancelKeyPress += interrupted;
        var fold = new Accumulator();
        try
        {
            await foreach (var e in call.ResponseStream.ReadAllAsync())
            {
                fold.Add(e);
                Show(e, fold);
            }
            if (!fold.Ended) throw new IncompleteStreamException();
        }
        finally
        {
            Console.CancelKeyPress -= interrupted;
            Console.WriteLine();
            // As it came: signatures, order and argument text are what providers check.
            if (fold.Message.ResponseId != "") Context.Messages.Add(new Message { Assistant = fold.Message });
        }
        Aborted = fold.Message.StopReason == StopReason.Aborted;
        return fold.Message;
    }

    /// <summary>Ends the answer while its stream stays open: it gets an aborted event with what there was.</summary>
    private async Task AbortAsync(string requestId)
    {
        try
        {
            await client.AbortAsync(new AbortRequest { RequestId = requestId, Reason = "Ctrl-C" });
        }
        catch (RpcException e)
        {
            Console.Error.WriteLine($"abort: {Describe(e)}");
        }
    }

    /// <summary>Answers tool calls until the model needs no more.</summary>
    public async Task ToolLoopAsync(string model)
    {
        Context.Tools.Add(Weather);
        for (var message = await AnswerAsync(model); message.StopReason == StopReason.ToolUse; message = await AnswerAsync(model))
        {
            foreach (var block in message.Content)
            {
                if (block.ToolCall is { } call) Context.Messages.Add(new Message { ToolResult = Run(call) });
            }
        }
    }

    /// <summary>The other way to stop: the call is cancelled, which shows nothing more, and llmd keeps what there was.</summary>
    public async Task CancelledAsync(string model)
    {
        using var stop = new CancellationTokenSource();
        using var call = client.Stream(Request(model), cancellationToken: stop.Token);
        var responseId = "";
        try
        {
            await foreach (var e in call.ResponseStream.ReadAllAsync())
            {
                if (e.Started is { } started) responseId = started.ResponseId;
                if (e.TextDelta is not null) stop.Cancel();
            }
        }
        catch (RpcException e) when (e.StatusCode == StatusCode.Cancelled)
        {
        }
        var wait = Duration.FromTimeSpan(TimeSpan.FromSeconds(5));
        var found = await client.GetResponseAsync(new GetResponseRequest { ResponseId = responseId, WaitDuration = wait });
        Context.Messages.Add(new Message { Assistant = found.Message });
        Console.WriteLine($"cancelled: {found.Message.StopReason}");
    }

    /// <summary>What to do when a connection is lost: the response goes on without a reader for as long as was asked
    /// for, and Attach takes it up behind the last event seen.</summary>
    public async Task ResumedAsync(string model)
    {
        var request = Request(model);
        request.Options = new() { Detached = Duration.FromTimeSpan(TimeSpan.FromMinutes(1)) };
        var fold = new Accumulator();
        var attach = new AttachRequest { RequestId = request.RequestId };
        using (var call = client.Stream(request))
        {
            await foreach (var e in call.ResponseStream.ReadAllAsync())
            {
                fold.Add(e);
                Show(e, fold);
                attach.LastSequenceNumber = e.SequenceNumber;
                if (e.TextDelta is not null) break;
            }
        } // ends the call, as a network may
        using var again = client.Attach(attach);
        await foreach (var e in again.ResponseStream.ReadAllAsync())
        {
            fold.Add(e);
            Show(e, fold);
        }
        Console.WriteLine();
        if (!fold.Ended) throw new IncompleteStreamException();
        Context.Messages.Add(new Message { Assistant = fold.Message });
    }

    /// <summary>Prints what the test server's streams fold to.</summary>
    public async Task VectorsAsync(IEnumerable<string> names)
    {
        foreach (var name in names)
        {
            var fold = new Accumulator();
            using var call = client.Stream(Request($"vectors/{name}"));
            try
            {
                await foreach (var e in call.ResponseStream.ReadAllAsync()) fold.Add(e);
            }
            catch (RpcException) // the status of a stream that ended with an error event
            {
            }
            Console.WriteLine($"{name} {(fold.Ended ? Convert.ToBase64String(fold.Message.ToByteArray()) : "incomplete stream")}");
        }
    }

    /// <summary>Prints an event: the answer to the output, the rest beside it.</summary>
    private static void Show(StreamResponse e, Accumulator fold)
    {
        switch (e.EventCase)
        {
            case StreamResponse.EventOneofCase.TextDelta:
                Console.Write(e.TextDelta.Delta);
                break;
            case StreamResponse.EventOneofCase.ThinkingDelta:
                Console.Error.Write(e.ThinkingDelta.Delta);
                break;
            case StreamResponse.EventOneofCase.ThinkingEnd:
                Console.Error.WriteLine();
                break;
            case StreamResponse.EventOneofCase.ToolCallDelta:
                // What can be read so far, by any JSON parser. To look at, not to act on.
                using (var known = JsonDocument.Parse(fold.Arguments(e.ToolCallDelta.ContentIndex)))
                {
                    Console.Error.WriteLine($"partial {known.RootElement}");
                }
                break;
            case StreamResponse.EventOneofCase.Aborted:
                Console.Error.WriteLine($"aborted: {e.Aborted.Cause} {e.Aborted.Reason}");
                break;
        }
    }

    /// <summary>Runs the tool. Calls that the model did not finish are not run.</summary>
    private static ToolResultMessage Run(ToolCall call)
    {
        var broken = call.ArgumentsError != "";
        var text = $"unreadable arguments: {call.ArgumentsError}";
        if (!broken)
        {
            using var arguments = JsonDocument.Parse(call.ArgumentsJson);
            var city = arguments.RootElement.TryGetProperty("city", out var value) ? value.ToString() : "";
            text = $"22 °C and sunny in {city}";
        }
        return new ToolResultMessage
        {
            ToolCallId = call.Id,
            ToolName = call.Name,
            IsError = broken,
            Content = { new ToolResultContent { Text = new() { Text = text } } },
        };
    }

    /// <summary>Says what an error means: the reason is for programs, the delay is there if trying again makes sense.</summary>
    public static string Describe(RpcException error)
    {
        var details = error.GetRpcStatus();
        var reason = details?.GetDetail<ErrorInfo>()?.Reason;
        var delay = details?.GetDetail<RetryInfo>()?.RetryDelay?.ToTimeSpan();
        return (reason is null ? "" : $"{reason} ") + $"({error.StatusCode}): {error.Status.Detail}"
            + (delay is { } wait ? FormattableString.Invariant($"; retry in {wait.TotalSeconds} s") : "");
    }
}
