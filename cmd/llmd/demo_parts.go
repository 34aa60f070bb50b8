package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"strings"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// toolCall streams an answer with thinking and a tool call.
func (d *demo) toolCall(ctx context.Context) error {
	d.out.title("1. A streams thinking, text and a tool call. Its arguments can be read while they grow.")
	d.say(userText("Will I need an umbrella in Zürich?"))
	_, message, err := d.ask(ctx, d.generation(modelA))
	if err != nil {
		return err
	}
	if message.GetStopReason() != llmdv1.StopReason_STOP_REASON_TOOL_USE {
		return fmt.Errorf("model A stopped with %s", message.GetStopReason())
	}
	return nil
}

// toolResult answers the call and streams the final answer.
func (d *demo) toolResult(ctx context.Context) error {
	d.out.title("2. The tool answers, and A goes on.")
	call := d.lastCall()
	if call == nil {
		return errors.New("there is no tool call to answer")
	}
	const forecast = "Rain until Thursday, 14 degrees."
	d.messages = append(d.messages, &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: call.GetId(), ToolName: call.GetName(),
		Content: []*llmdv1.ToolResultContent{{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: forecast}}}},
	}}})
	d.out.line("tool", forecast)
	_, message, err := d.ask(ctx, d.generation(modelA))
	if err != nil {
		return err
	}
	if message.GetStopReason() != llmdv1.StopReason_STOP_REASON_STOP {
		return fmt.Errorf("model A stopped with %s", message.GetStopReason())
	}
	return nil
}

func (d *demo) lastCall() *llmdv1.ToolCall {
	for _, c := range d.messages[len(d.messages)-1].GetAssistant().GetContent() {
		if c.GetToolCall() != nil {
			return c.GetToolCall()
		}
	}
	return nil
}

// handoff moves the conversation to a model of another API.
func (d *demo) handoff(ctx context.Context) error {
	d.out.title("3. The conversation moves to B, which speaks another API and sees no pictures.")
	picture, err := smallPicture()
	if err != nil {
		return err
	}
	d.say(userText("And what does this picture say?"), picture)
	prepared, err := d.client.PrepareContext(ctx, &llmdv1.PrepareContextRequest{Generation: d.generation(modelB)})
	if err != nil {
		return err
	}
	d.out.line("request", prepared.GetRequest().GetMethod()+" "+prepared.GetRequest().GetUrl())
	d.out.line("changed", fmt.Sprintf("%d places, only in what B is sent; the history keeps all of it", len(prepared.GetHandoffChanges())))
	for _, c := range prepared.GetHandoffChanges() {
		d.out.change(c)
	}
	f, _, err := d.ask(ctx, d.generation(modelB))
	if err != nil {
		return err
	}
	reported := f.started.GetHandoffChanges()
	if len(reported) == 0 || !equalChanges(reported, prepared.GetHandoffChanges()) {
		return errors.New("the stream reported other changes than PrepareContext")
	}
	return nil
}

func equalChanges(a, b []*llmdv1.HandoffChange) bool {
	return proto.Equal(&llmdv1.StartedEvent{HandoffChanges: a}, &llmdv1.StartedEvent{HandoffChanges: b})
}

// smallPicture is a picture of one pixel.
func smallPicture() (*llmdv1.UserContent, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		return nil, err
	}
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{
		Source: &llmdv1.ImageContent_Data{Data: b.Bytes()}, MimeType: "image/png",
	}}}, nil
}

// handBack returns to the first model, which gets its own signatures back. It
// refuses any that it did not issue for exactly this text, so its answer proves
// the same once more.
func (d *demo) handBack(ctx context.Context) error {
	d.out.title("4. Back to A: what A signed goes back byte for byte.")
	d.say(userText("Thank you both."))
	g := d.generation(modelA)
	g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: llmdv1.ToolMode_TOOL_MODE_NONE}}
	prepared, err := d.client.PrepareContext(ctx, &llmdv1.PrepareContextRequest{Generation: g})
	if err != nil {
		return err
	}
	signed := d.signatures(modelA)
	if len(signed) == 0 {
		return errors.New("model A has signed nothing")
	}
	for _, sig := range signed {
		if n := strings.Count(prepared.GetRequest().GetBodyJson(), `"`+string(sig.GetData())+`"`); n != 1 {
			return fmt.Errorf("a signature of A is %d times in the request to A", n)
		}
		d.out.line("signature", fmt.Sprintf("%.24s... (%d bytes) is in the request", sig.GetData(), len(sig.GetData())))
	}
	if n := len(prepared.GetHandoffChanges()); n > 0 {
		return fmt.Errorf("the way back changed %d places", n)
	}
	d.out.line("changed", "nothing")
	_, _, err = d.ask(ctx, g)
	return err
}

// signatures are those in the history that a model issued.
func (d *demo) signatures(model string) []*llmdv1.Signature {
	var all []*llmdv1.Signature
	for _, m := range d.messages {
		for _, c := range m.GetAssistant().GetContent() {
			if sig := c.GetThinking().GetSignature(); sig.GetProvider()+"/"+sig.GetModel() == model {
				all = append(all, sig)
			}
		}
	}
	return all
}
