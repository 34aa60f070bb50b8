package dev.llmd.example;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.llmd.v1.AssistantContent;
import dev.llmd.v1.AssistantMessage;
import dev.llmd.v1.Signature;
import dev.llmd.v1.StartedEvent;
import dev.llmd.v1.StopReason;
import dev.llmd.v1.StreamResponse;
import dev.llmd.v1.TextContent;
import dev.llmd.v1.ThinkingContent;
import dev.llmd.v1.ToolCall;
import dev.llmd.v1.ToolCallDeltaEvent;
import java.util.ArrayList;
import java.util.List;

/** Folds llmd's events into the message so far; the rules are in proto/vectors. */
final class Accumulator {
  private AssistantMessage head = AssistantMessage.newBuilder().setStopReason(StopReason.STOP_REASON_PENDING).build();
  private List<Block> blocks = new ArrayList<>();
  private boolean ended;

  private static final class Block {
    AssistantContent content;
    StringBuilder text; // the deltas joined, while the content goes without
    boolean open;
    ToolCallDeltaEvent last = ToolCallDeltaEvent.getDefaultInstance(); // how much of a tool call can be read

    Block(AssistantContent content) {
      this.content = content;
    }

    static Block open(AssistantContent content, String text) {
      Block block = new Block(content);
      block.text = new StringBuilder(text);
      block.open = true;
      return block;
    }

    AssistantContent whole() {
      if (text == null) {
        return content;
      }
      AssistantContent.Builder out = content.toBuilder();
      switch (content.getBlockCase()) {
        case TEXT -> out.getTextBuilder().setText(text.toString());
        case THINKING -> out.getThinkingBuilder().setThinking(text.toString());
        case TOOL_CALL -> {
          boolean closed = open || text.isEmpty() || !content.getToolCall().getArgumentsError().isEmpty();
          out.getToolCallBuilder().setArgumentsJson(closed ? readable() : text.toString());
        }
        default -> {}
      }
      return out.build();
    }

    // The length counts bytes of UTF-8, and strings are UTF-16 here.
    private String readable() {
      int valid = last.getValidPrefixBytes();
      return valid == 0 ? "{}" : new String(text.toString().getBytes(UTF_8), 0, valid, UTF_8) + last.getClosing();
    }
  }

  void add(StreamResponse e) {
    switch (e.getEventCase()) {
      case STARTED -> {
        head = begin(e.getStarted());
        blocks = new ArrayList<>(); // it begins anew, if an earlier connection was lost
      }
      case TEXT_START -> {
        TextContent start = TextContent.newBuilder().setIncomplete(true).build();
        put(e.getTextStart().getContentIndex(), Block.open(content().setText(start).build(), ""));
      }
      case THINKING_START -> {
        boolean redacted = e.getThinkingStart().getRedacted();
        ThinkingContent start = ThinkingContent.newBuilder().setRedacted(redacted).setIncomplete(true).build();
        put(e.getThinkingStart().getContentIndex(), Block.open(content().setThinking(start).build(), ""));
      }
      case TOOL_CALL_START -> {
        var s = e.getToolCallStart();
        ToolCall start = ToolCall.newBuilder().setId(s.getId()).setName(s.getName())
            .setToolNamespace(s.getToolNamespace()).setIncomplete(true).build();
        put(s.getContentIndex(), Block.open(content().setToolCall(start).build(), ""));
      }
      case TEXT_DELTA -> append(e.getTextDelta().getContentIndex(), e.getTextDelta().getDelta());
      case THINKING_DELTA -> append(e.getThinkingDelta().getContentIndex(), e.getThinkingDelta().getDelta());
      case TOOL_CALL_DELTA -> {
        ToolCallDeltaEvent delta = e.getToolCallDelta();
        if (append(delta.getContentIndex(), delta.getDelta())) {
          blocks.get(delta.getContentIndex()).last = delta;
        }
      }
      case TEXT_END -> {
        var end = e.getTextEnd();
        end(end.getContentIndex(), content().setText(end.getContent()).build(), end.getContentOmitted());
      }
      case THINKING_END -> {
        var end = e.getThinkingEnd();
        end(end.getContentIndex(), content().setThinking(end.getContent()).build(), end.getContentOmitted());
      }
      case TOOL_CALL_END -> {
        var end = e.getToolCallEnd();
        end(end.getContentIndex(), content().setToolCall(end.getToolCall()).build(), end.getContentOmitted());
      }
      case PROVIDER_CONTENT -> {
        var whole = e.getProviderContent();
        put(whole.getContentIndex(), new Block(content().setProviderContent(whole.getContent()).build()));
      }
      case SIGNATURE_UPDATE -> sign(e.getSignatureUpdate().getContentIndex(), e.getSignatureUpdate().getSignature());
      case USAGE_UPDATE -> head = head.toBuilder().setUsage(e.getUsageUpdate()).build();
      case SNAPSHOT -> replace(e.getSnapshot().getMessage(), e.getSnapshot().getContentOmitted(), false);
      case DONE -> replace(e.getDone().getMessage(), e.getDone().getContentOmitted(), true);
      case ERROR -> replace(e.getError().getMessage(), e.getError().getContentOmitted(), true);
      case ABORTED -> replace(e.getAborted().getMessage(), e.getAborted().getContentOmitted(), true);
      default -> {} // heartbeats, stalls, and events of newer kinds
    }
  }

  /** The message so far, and the final one after the terminal event. */
  AssistantMessage message() {
    return head.toBuilder().addAllContent(blocks.stream().map(Block::whole).toList()).build();
  }

  /** What can be read of a tool call's arguments so far: one JSON object. */
  String arguments(int index) {
    return blocks.get(index).whole().getToolCall().getArgumentsJson();
  }

  /** The terminal event came. A stream that ends without one is broken: there is no answer. */
  boolean ended() {
    return ended;
  }

  private static AssistantContent.Builder content() {
    return AssistantContent.newBuilder();
  }

  private static AssistantMessage begin(StartedEvent s) {
    AssistantMessage.Builder out = AssistantMessage.newBuilder()
        .setApi(s.getApi()).setProvider(s.getProvider()).setModel(s.getModel()).setResponseModel(s.getResponseModel())
        .setResponseId(s.getResponseId()).setProviderResponseId(s.getProviderResponseId())
        .setStopReason(StopReason.STOP_REASON_PENDING);
    if (s.hasCreateTime()) {
      out.setCreateTime(s.getCreateTime());
    }
    if (s.hasUsage()) {
      out.setUsage(s.getUsage());
    }
    return out.build();
  }

  private Block put(int index, Block block) {
    while (index >= blocks.size()) {
      blocks.add(new Block(AssistantContent.getDefaultInstance())); // what is passed over is of a newer kind
    }
    return blocks.set(index, block);
  }

  private boolean append(int index, String delta) {
    if (index >= blocks.size() || !blocks.get(index).open) {
      return false;
    }
    blocks.get(index).text.append(delta);
    return true;
  }

  private void end(int index, AssistantContent content, boolean omitted) {
    Block block = new Block(content);
    Block before = put(index, block);
    if (omitted) {
      block.text = before.text;
      block.last = before.last;
    }
  }

  private void sign(int index, Signature signature) {
    if (index >= blocks.size()) {
      return;
    }
    AssistantContent.Builder content = blocks.get(index).content.toBuilder();
    switch (content.getBlockCase()) {
      case TEXT -> content.getTextBuilder().setSignature(signature);
      case THINKING -> content.getThinkingBuilder().setSignature(signature);
      case TOOL_CALL -> content.getToolCallBuilder().setSignature(signature);
      default -> {}
    }
    blocks.get(index).content = content.build();
  }

  private void replace(AssistantMessage message, boolean omitted, boolean terminal) {
    ended = terminal;
    head = message.toBuilder().clearContent().build();
    if (omitted) {
      return;
    }
    List<Block> replaced = new ArrayList<>();
    for (AssistantContent content : message.getContentList()) {
      replaced.add(terminal ? new Block(content) : resume(content, replaced.size()));
    }
    blocks = replaced;
  }

  private Block resume(AssistantContent content, int index) {
    if (content.getText().getIncomplete()) {
      return Block.open(content, content.getText().getText());
    }
    if (content.getThinking().getIncomplete()) {
      return Block.open(content, content.getThinking().getThinking());
    }
    // A snapshot has the arguments closed; go on with the deltas if they are here.
    boolean own = content.getToolCall().getIncomplete() && index < blocks.size() && blocks.get(index).open;
    return own ? blocks.get(index) : new Block(content);
  }
}
