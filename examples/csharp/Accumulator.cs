using System.Text;
using Llmd.V1;

namespace Llmd.Example;

/// <summary>The stream ended without a terminal event: there is no answer.</summary>
public sealed class IncompleteStreamException() : Exception("the stream ended without a terminal event");

/// <summary>Folds llmd's events into the message so far; the rules are in proto/vectors.</summary>
public sealed class Accumulator
{
    private AssistantMessage head = new() { StopReason = StopReason.Pending };
    private List<Block> blocks = [];

    private sealed class Block(AssistantContent content)
    {
        public AssistantContent Content = content;
        public StringBuilder? Text; // the deltas joined, while the content goes without
        public bool Open;
        public ToolCallDeltaEvent? Last; // says how much of a tool call's text can be read

        public AssistantContent Whole()
        {
            if (Text is null) return Content;
            var whole = Content.Clone();
            var text = Text.ToString();
            switch (whole.BlockCase)
            {
                case AssistantContent.BlockOneofCase.Text:
                    whole.Text.Text = text;
                    break;
                case AssistantContent.BlockOneofCase.Thinking:
                    whole.Thinking.Thinking = text;
                    break;
                case AssistantContent.BlockOneofCase.ToolCall:
                    var closed = Open || text == "" || whole.ToolCall.ArgumentsError != "";
                    whole.ToolCall.ArgumentsJson = closed ? Readable(text) : text;
                    break;
            }
            return whole;
        }

        // The length counts bytes of UTF-8, and strings are UTF-16 here.
        private string Readable(string text) => Last is null or { ValidPrefixBytes: 0 }
            ? "{}"
            : Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(text), 0, Last.ValidPrefixBytes) + Last.Closing;
    }

    /// <summary>The terminal event came.</summary>
    public bool Ended { get; private set; }

    /// <summary>The message so far, and the final one after the terminal event.</summary>
    public AssistantMessage Message
    {
        get
        {
            var message = head.Clone();
            message.Content.AddRange(blocks.Select(block => block.Whole()));
            return message;
        }
    }

    /// <summary>What can be read of a tool call's arguments so far: one JSON object.</summary>
    public string Arguments(int index) => blocks[index].Whole().ToolCall.ArgumentsJson;

    public void Add(StreamResponse e)
    {
        switch (e.EventCase)
        {
            case StreamResponse.EventOneofCase.Started:
                var s = e.Started;
                head = new AssistantMessage
                {
                    Api = s.Api, Provider = s.Provider, Model = s.Model, ResponseModel = s.ResponseModel,
                    ResponseId = s.ResponseId, ProviderResponseId = s.ProviderResponseId,
                    CreateTime = s.CreateTime, Usage = s.Usage, StopReason = StopReason.Pending,
                };
                blocks = []; // it begins anew, if an earlier connection was lost
                break;
            case StreamResponse.EventOneofCase.TextStart:
                Start(e.TextStart.ContentIndex, new() { Text = new() { Incomplete = true } });
                break;
            case StreamResponse.EventOneofCase.ThinkingStart:
                Start(e.ThinkingStart.ContentIndex, new() { Thinking = new() { Redacted = e.ThinkingStart.Redacted, Incomplete = true } });
                break;
            case StreamResponse.EventOneofCase.ToolCallStart:
                var call = e.ToolCallStart;
                Start(call.ContentIndex, new() { ToolCall = new() { Id = call.Id, Name = call.Name, ToolNamespace = call.ToolNamespace, Incomplete = true } });
                break;
            case StreamResponse.EventOneofCase.TextDelta:
                Append(e.TextDelta.ContentIndex, e.TextDelta.Delta);
                break;
            case StreamResponse.EventOneofCase.ThinkingDelta:
                Append(e.ThinkingDelta.ContentIndex, e.ThinkingDelta.Delta);
                break;
            case StreamResponse.EventOneofCase.ToolCallDelta:
                Append(e.ToolCallDelta.ContentIndex, e.ToolCallDelta.Delta, e.ToolCallDelta);
                break;
            case StreamResponse.EventOneofCase.TextEnd:
                End(e.TextEnd.ContentIndex, new() { Text = e.TextEnd.Content ?? new() }, e.TextEnd.ContentOmitted);
                break;
            case StreamResponse.EventOneofCase.ThinkingEnd:
                End(e.ThinkingEnd.ContentIndex, new() { Thinking = e.ThinkingEnd.Content ?? new() }, e.ThinkingEnd.ContentOmitted);
                break;
            case StreamResponse.EventOneofCase.ToolCallEnd:
                End(e.ToolCallEnd.ContentIndex, new() { ToolCall = e.ToolCallEnd.ToolCall ?? new() }, e.ToolCallEnd.ContentOmitted);
                break;
            case StreamResponse.EventOneofCase.ProviderContent:
                End(e.ProviderContent.ContentIndex, new() { ProviderContent = e.ProviderContent.Content }, false);
                break;
            case StreamResponse.EventOneofCase.SignatureUpdate:
                Sign(e.SignatureUpdate.ContentIndex, e.SignatureUpdate.Signature);
                break;
            case StreamResponse.EventOneofCase.UsageUpdate:
                head.Usage = e.UsageUpdate;
                break;
            case StreamResponse.EventOneofCase.Snapshot:
                Replace(e.Snapshot.Message, e.Snapshot.ContentOmitted, terminal: false);
                break;
            case StreamResponse.EventOneofCase.Done:
                Replace(e.Done.Message, e.Done.ContentOmitted, terminal: true);
                break;
            case StreamResponse.EventOneofCase.Error:
                Replace(e.Error.Message, e.Error.ContentOmitted, terminal: true);
                break;
            case StreamResponse.EventOneofCase.Aborted:
                Replace(e.Aborted.Message, e.Aborted.ContentOmitted, terminal: true);
                break;
            // Heartbeats, stalls, and None: an event of a newer kind.
        }
    }

    private Block Put(int index, Block block)
    {
        while (index >= blocks.Count) blocks.Add(new(new())); // what is passed over is of a newer kind
        var before = blocks[index];
        blocks[index] = block;
        return before;
    }

    private void Start(int index, AssistantContent content) => Put(index, new(content) { Text = new(), Open = true });

    private void Append(int index, string delta, ToolCallDeltaEvent? last = null)
    {
        if (index >= blocks.Count || !blocks[index].Open) return;
        blocks[index].Text!.Append(delta);
        blocks[index].Last = last;
    }

    private void End(int index, AssistantContent content, bool omitted)
    {
        var block = new Block(content);
        var before = Put(index, block);
        if (omitted) (block.Text, block.Last) = (before.Text, before.Last);
    }

    private void Sign(int index, Signature signature)
    {
        if (index >= blocks.Count) return;
        var content = blocks[index].Content = blocks[index].Content.Clone(); // it belongs to an event
        switch (content.BlockCase)
        {
            case AssistantContent.BlockOneofCase.Text:
                content.Text.Signature = signature;
                break;
            case AssistantContent.BlockOneofCase.Thinking:
                content.Thinking.Signature = signature;
                break;
            case AssistantContent.BlockOneofCase.ToolCall:
                content.ToolCall.Signature = signature;
                break;
        }
    }

    private void Replace(AssistantMessage? message, bool omitted, bool terminal)
    {
        Ended = terminal;
        head = message?.Clone() ?? new();
        if (!omitted) blocks = head.Content.Select((content, i) => terminal ? new(content) : Resume(content, i)).ToList();
        head.Content.Clear();
    }

    private Block Resume(AssistantContent content, int index) => content switch
    {
        { Text.Incomplete: true } => new(content) { Text = new(content.Text.Text), Open = true },
        { Thinking.Incomplete: true } => new(content) { Text = new(content.Thinking.Thinking), Open = true },
        // A snapshot has the arguments closed; go on with the deltas if they are here.
        { ToolCall.Incomplete: true } when index < blocks.Count && blocks[index].Open => blocks[index],
        _ => new(content),
    };
}
