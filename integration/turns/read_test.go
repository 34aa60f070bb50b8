package turns

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// reading turns one recorded body into the equivalent conversation.
type reading struct {
	r      *recording
	api    string
	g      *llmdv1.Generation
	faults []string // what the reader does not understand
}

// readers are the readers of the APIs, by folder.
func readers() map[string]func(*reading, *node) {
	return map[string]func(*reading, *node){
		"anthropic-messages":      readAnthropic,
		"openai-completions":      readChat,
		"openai-responses":        readResponses,
		"google-generative-ai":    readGoogle,
		"google-vertex":           readGoogle,
		"bedrock-converse-stream": readBedrock,
		"mistral":                 readMistral,
	}
}

// readRequest reads a recorded request. Members of the body that no reader took go
// in by provider_options_json.
func readRequest(r *recording, api string) (*llmdv1.Generation, []string) {
	body, err := parse(r.request)
	if err != nil {
		return nil, []string{err.Error()}
	}
	x := &reading{r: r, api: api, g: &llmdv1.Generation{
		Model: r.Provider + "/" + r.Model, Context: &llmdv1.Context{}, Config: &llmdv1.GenerationConfig{},
	}}
	if !strings.Contains(string(r.request), "cache_control") && !strings.Contains(string(r.request), "cachePoint") {
		x.g.Cache = &llmdv1.CacheConfig{Retention: llmdv1.CacheRetention_CACHE_RETENTION_NONE}
	}
	readers()[r.folder](x, body)
	if left := body.left(); left != "" {
		x.g.ProviderOptionsJson = map[string]string{r.Provider: left}
	}
	return x.g, x.faults
}

func (x *reading) fault(format string, args ...any) {
	x.faults = append(x.faults, fmt.Sprintf(format, args...))
}

// whole says that all of an object must have been taken.
func (x *reading) whole(n *node, where string) {
	if left := n.left(); left != "" {
		x.fault("%s: not read: %.200s", where, left)
	}
}

// issued is opaque state of this recording's model.
func (x *reading) issued(format, data string) *llmdv1.Signature {
	return &llmdv1.Signature{Data: []byte(data), Format: format, Api: x.api, Provider: x.r.Provider, Model: x.r.Model}
}

func (x *reading) add(m *llmdv1.Message) { x.g.Context.Messages = append(x.g.Context.Messages, m) }

func (x *reading) user(blocks ...*llmdv1.UserContent) {
	x.add(&llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: blocks}}})
}

// assistant adds an answer of the recording's own model.
func (x *reading) assistant(blocks ...*llmdv1.AssistantContent) {
	stop := llmdv1.StopReason_STOP_REASON_STOP
	for _, b := range blocks {
		if b.GetToolCall() != nil {
			stop = llmdv1.StopReason_STOP_REASON_TOOL_USE
		}
	}
	x.add(&llmdv1.Message{Message: &llmdv1.Message_Assistant{Assistant: &llmdv1.AssistantMessage{
		Content: blocks, Api: x.api, Provider: x.r.Provider, Model: x.r.Model, StopReason: stop,
	}}})
}

func (x *reading) result(id string, failed bool, blocks ...*llmdv1.ToolResultContent) {
	x.add(&llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: &llmdv1.ToolResultMessage{
		ToolCallId: id, ToolName: x.called(id), IsError: failed, Content: blocks,
	}}})
}

// called is the name of the tool that a call was to.
func (x *reading) called(id string) string {
	name := ""
	for _, m := range x.g.Context.Messages {
		for _, b := range m.GetAssistant().GetContent() {
			if c := b.GetToolCall(); c.GetId() == id && c != nil {
				name = c.GetName()
			}
		}
	}
	return name
}

func userText(s string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func userImage(i *llmdv1.ImageContent) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: i}}
}

func resultText(s string) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: s}}}
}

func resultImage(i *llmdv1.ImageContent) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: i}}
}

func said(s string, signature *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s, Signature: signature}}}
}

func thought(s string, redacted bool, signature *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{
		Thinking: s, Redacted: redacted, Signature: signature,
	}}}
}

func call(id, name, arguments string, signature *llmdv1.Signature) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{
		Id: id, Name: name, ArgumentsJson: arguments, Signature: signature,
	}}}
}

// own is a block that has no type in the contract.
func (x *reading) own(kind string, raw []byte) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ProviderContent{ProviderContent: &llmdv1.ProviderContent{
		Api: x.api, Provider: x.r.Provider, Model: x.r.Model, Type: kind, RawJson: raw,
	}}}
}

// image is one given as base64.
func (x *reading) image(kind, data string) *llmdv1.ImageContent {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		x.fault("an image is not base64: %v", err)
	}
	return &llmdv1.ImageContent{MimeType: kind, Source: &llmdv1.ImageContent_Data{Data: raw}}
}

// imageURL is one given as a data URL.
func (x *reading) imageURL(url string) *llmdv1.ImageContent {
	head, data, _ := strings.Cut(url, ";base64,")
	kind, isData := strings.CutPrefix(head, "data:")
	if !isData {
		x.fault("an image is not a data URL: %.60s", url)
	}
	return x.image(kind, data)
}

func (x *reading) int32(n *node) *int32 {
	if n.none() {
		return nil
	}
	v, err := strconv.ParseInt(string(n.raw), 10, 32)
	if err != nil {
		x.fault("not a number: %s", n.raw)
	}
	i := int32(v)
	return &i
}

func (x *reading) float(n *node) *float64 {
	if n.none() {
		return nil
	}
	v, err := strconv.ParseFloat(string(n.raw), 64)
	if err != nil {
		x.fault("not a number: %s", n.raw)
	}
	return &v
}

func texts(n *node) []string {
	var out []string
	if n != nil {
		for _, i := range n.items {
			out = append(out, i.text)
		}
	}
	return out
}

// tool adds a function. A recorded "strict" is one that the host was told to keep, but to
// DeepSeek, which does not look at it, llmd does not say it.
func (x *reading) tool(name, description, schema, strict *node) {
	t := &llmdv1.Tool{Name: name.text}
	if description != nil {
		t.Description = description.text
	}
	if schema != nil {
		t.ParametersJsonSchema = string(schema.raw)
	}
	if strict != nil && string(strict.raw) == "true" && x.r.Provider != "deepseek" {
		t.Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
	}
	x.g.Context.Tools = append(x.g.Context.Tools, t)
}

// ownTools hands the list of tools over as it is, as the contract has no types for
// all of them. The functions among it are the conversation's tools all the same.
func (x *reading) ownTools(root *node, key string) {
	delete(root.taken, key)
}

func (x *reading) mode(m llmdv1.ToolMode) {
	x.g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
}

func (x *reading) toolNamed(name string) {
	x.g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: name}}
}

// effort is a word for an effort; false = the contract has no such word.
func (x *reading) effort(word string) bool {
	v, ok := llmdv1.ReasoningEffort_value["REASONING_EFFORT_"+strings.ToUpper(word)]
	if ok {
		x.reasoning().Effort = llmdv1.ReasoningEffort(v)
	}
	return ok
}

func (x *reading) reasoning() *llmdv1.ReasoningConfig {
	if x.g.Reasoning == nil {
		x.g.Reasoning = &llmdv1.ReasoningConfig{}
	}
	return x.g.Reasoning
}

// objectOf writes an object of strings and raw values, for signatures.
func objectOf(pairs ...string) string {
	var w jsonwire.Writer
	w.BeginObject()
	for i := 0; i < len(pairs); i += 2 {
		w.MemberIf(pairs[i], pairs[i+1])
	}
	w.EndObject()
	return string(w.Bytes())
}
