package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// generation is the conversation so far, for a model.
func (d *demo) generation(model string) *llmdv1.Generation {
	return &llmdv1.Generation{
		Model: model,
		Context: &llmdv1.Context{
			SystemPrompt: "You are brief.",
			Messages:     d.messages,
			Tools: []*llmdv1.Tool{{
				Name:        "forecast",
				Description: "The weather of the next days.",
				ParametersJsonSchema: `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},` +
					`"unit":{"enum":["celsius","fahrenheit"]}},"required":["city","days","unit"]}`,
			}},
		},
	}
}

// say adds what the user says.
func (d *demo) say(content ...*llmdv1.UserContent) {
	d.messages = append(d.messages, userMessage(content...))
	for _, c := range content {
		if image := c.GetImage(); image != nil {
			d.out.line("user", fmt.Sprintf("(a picture, %s, %d bytes)", image.GetMimeType(), len(image.GetData())))
			continue
		}
		d.out.line("user", c.GetText().GetText())
	}
}

// ask streams the answer of a model, shows it and adds it to the conversation.
func (d *demo) ask(ctx context.Context, g *llmdv1.Generation) (*fold, *llmdv1.AssistantMessage, error) {
	stream, err := d.client.Stream(ctx, &llmdv1.StreamRequest{Generation: g})
	if err != nil {
		return nil, nil, err
	}
	f := &fold{}
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if err := f.add(e); err != nil {
			return nil, nil, err
		}
		if err := d.out.show(e, f); err != nil {
			return nil, nil, err
		}
	}
	message := f.terminal.GetDone().GetMessage()
	if message == nil {
		return nil, nil, errors.New("the stream ended with status OK and without done")
	}
	if err := f.check(message); err != nil {
		return nil, nil, err
	}
	d.messages = append(d.messages, &llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: message}})
	d.out.line("done", enumWord(message.GetStopReason())+", "+usageText(message.GetUsage()))
	return f, message, nil
}
