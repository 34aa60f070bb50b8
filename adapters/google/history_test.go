package google

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Histories are built with these.
var (
	assistant = adaptertest.Assistant
)

func thought(s string) *llmdv1.Signature {
	if s == "" {
		return nil
	}
	return &llmdv1.Signature{Data: []byte(s), Format: signatureFormat}
}

func textBlock(s, signature string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Text{Text: &llmdv1.TextContent{Text: s, Signature: thought(signature)}}}
}

func thinkingBlock(s, signature string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_Thinking{Thinking: &llmdv1.ThinkingContent{Thinking: s, Signature: thought(signature)}}}
}

func callBlock(id, arguments, signature string) *llmdv1.AssistantContent {
	return &llmdv1.AssistantContent{Block: &llmdv1.AssistantContent_ToolCall{ToolCall: &llmdv1.ToolCall{Id: id, Name: "look", ArgumentsJson: arguments, Signature: thought(signature)}}}
}

// ownBlock is a part of Google's own that a model made.
func ownBlock(model, kind, raw string) *llmdv1.AssistantContent {
	b := adaptertest.Own(kind, raw)
	b.GetProviderContent().Model = model
	return b
}

func picture(kind string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte{0xfb, 0xff}}, MimeType: kind}
}

// result is a tool's result; text and images may be left out.
func result(id, text string, failed bool, images ...*llmdv1.ImageContent) *llmdv1.Message {
	r := &llmdv1.ToolResultMessage{ToolCallId: id, ToolName: "look", IsError: failed}
	if text != "" {
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Text{Text: &llmdv1.TextContent{Text: text}}})
	}
	for _, i := range images {
		r.Content = append(r.Content, &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: i}})
	}
	return &llmdv1.Message{Message: &llmdv1.Message_ToolResult{ToolResult: r}}
}

func TestHistory(t *testing.T) {
	const old, three = "gemini-2.5-flash", "gemini-3-flash-preview"
	model := func(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }
	usr := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	call := func(id, args, rest string) string {
		if id != "" {
			id = `"id":"` + id + `",`
		}
		return `{"functionCall":{` + id + `"name":"look","args":` + args + `}` + rest + `}`
	}
	response := func(id, key, text, rest string) string {
		if id != "" {
			id = `"id":"` + id + `",`
		}
		return `{"functionResponse":{` + id + `"name":"look","response":{"` + key + `":"` + text + `"}` + rest + `}}`
	}
	const image = `{"inlineData":{"mimeType":"image/png","data":"+/8="}}`
	for _, c := range []struct {
		name, model string
		messages    []*llmdv1.Message
		want        string // behind the first turn
	}{
		{"text, thinking and their signatures", old, []*llmdv1.Message{assistant(
			thinkingBlock("hm", ""), thinkingBlock("ah", "QUI="), thinkingBlock(" ", ""), textBlock("\n", ""), textBlock("\n", "QUI="), textBlock("", "QUJD"), textBlock("hi", ""),
		)}, model(`{"text":"hm","thought":true},{"text":"ah","thought":true,"thoughtSignature":"QUI="},{"text":"\n","thoughtSignature":"QUI="},{"text":"","thoughtSignature":"QUJD"},{"text":"hi"}`)},
		{
			"no signature that Google could not have issued", old,
			[]*llmdv1.Message{assistant(textBlock("a", "not base64"), textBlock("b", "QUI"), textBlock("c", "A"), textBlock("", "?"))},
			model(`{"text":"a"},{"text":"b","thoughtSignature":"QUI"},{"text":"c"}`),
		},
		{"an empty turn is none", old, []*llmdv1.Message{assistant(textBlock(" ", "")), user("again")}, usr(`{"text":"again"}`)},
		{
			"arguments keep their bytes", old,
			[]*llmdv1.Message{assistant(callBlock("1", `{ "z" : 1.0,  "a":"<" }`, "QUI="), callBlock("2", "", ""))},
			model(call("", `{ "z" : 1.0,  "a":"<" }`, `,"thoughtSignature":"QUI="`) + `,` + call("", "{}", "")),
		},
		{
			"ids from Gemini 3 on", three,
			[]*llmdv1.Message{assistant(callBlock("1", "{}", "QUI=")), result("1", "r", false)},
			model(call("1", "{}", `,"thoughtSignature":"QUI="`)) + `,` + usr(response("1", "output", "r", "")),
		},
		{
			"the bypass stands on the first call alone", three,
			[]*llmdv1.Message{assistant(callBlock("1", "{}", bypassSignature), callBlock("2", "{}", bypassSignature))},
			model(call("1", "{}", `,"thoughtSignature":"skip_thought_signature_validator"`) + `,` + call("2", "{}", "")),
		},
		{
			"results stand together, in the calls' order", old,
			[]*llmdv1.Message{assistant(callBlock("1", "{}", ""), callBlock("2", "{}", ""), callBlock("3", "{}", "")), result("3", "r3", false), result("1", "r1", true), result("2", "", false), user("next")},
			model(call("", "{}", "")+`,`+call("", "{}", "")+`,`+call("", "{}", "")) + `,` +
				usr(response("", "error", "r1", "")+`,`+response("", "output", "", "")+`,`+response("", "output", "r3", "")) + `,` + usr(`{"text":"next"}`),
		},
		{
			"images of results inside, from Gemini 3 on", three,
			[]*llmdv1.Message{assistant(callBlock("1", "{}", ""), callBlock("2", "{}", "")), result("1", "", false, picture("image/png")), result("2", "t", false)},
			model(call("1", "{}", "")+`,`+call("2", "{}", "")) + `,` +
				usr(response("1", "output", "(see attached image)", `,"parts":[`+image+`]`)+`,`+response("2", "output", "t", "")),
		},
		{
			"images of other types behind the group", three,
			[]*llmdv1.Message{assistant(callBlock("1", "{}", ""), callBlock("2", "{}", "")), result("1", "t", false, picture("image/heic"), picture("image/png")), result("2", "", false, picture("image/heif"))},
			model(call("1", "{}", "")+`,`+call("2", "{}", "")) + `,` +
				usr(response("1", "output", "t", `,"parts":[`+image+`]`)+`,`+response("2", "output", "(see attached image)", "")) + `,` +
				usr(`{"text":"Tool result image:"},`+strings.Replace(image, "png", "heic", 1)+`,{"text":"Tool result image:"},`+strings.Replace(image, "png", "heif", 1)),
		},
		{
			"images of results behind the group, before Gemini 3", old,
			[]*llmdv1.Message{assistant(callBlock("1", "{}", ""), callBlock("2", "{}", "")), result("1", "t", false, picture("image/png"), picture("image/png")), result("2", "u", false)},
			model(call("", "{}", "")+`,`+call("", "{}", "")) + `,` +
				usr(response("", "output", "t", "")+`,`+response("", "output", "u", "")) + `,` + usr(`{"text":"Tool result image:"},`+image+`,`+image),
		},
		{"Google's own parts go back as they came", three, []*llmdv1.Message{assistant(
			ownBlock(three, "toolCall", `{ "toolCall" : {"id":"x"}, "thoughtSignature":"QUI=" }`), ownBlock(three, "groundingMetadata", `{"a":1}`), textBlock("t", ""),
		)}, model(`{ "toolCall" : {"id":"x"}, "thoughtSignature":"QUI=" },{"text":"t"}`)},
		{"without the signature of another model", three, []*llmdv1.Message{assistant(
			ownBlock(old, "executableCode", `{ "executableCode" : { "code":"1.0" }, "thoughtSignature":"QUI=" }`), ownBlock("", "inlineData", `{"thoughtSignature":"QUI=","inlineData":{}}`),
			ownBlock(old, "codeExecutionResult", `{ "codeExecutionResult" : {} }`),
		)}, model(`{"executableCode":{ "code":"1.0" }},{"inlineData":{}},{ "codeExecutionResult" : {} }`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := encode(t, New(), c.model, func(g *llmdv1.Generation) {
				g.Context.Messages = append(g.Context.Messages, c.messages...)
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"contents":[{"role":"user","parts":[{"text":"hi"}]},` + c.want + `]}`; string(r.Body) != want {
				t.Errorf("body is\n%s\nwant\n%s", r.Body, want)
			}
		})
	}
}

func TestOutputOnlyContentIsReported(t *testing.T) {
	r, err := encode(t, New(), "gemini-2.5-flash", func(g *llmdv1.Generation) {
		g.Context.Messages = append(g.Context.Messages, assistant(textBlock("t", ""), ownBlock("gemini-2.5-flash", "citationMetadata", `{}`)), user("go on"))
	})
	if err != nil || len(r.Changes) != 1 || r.Changes[0].GetRule() != "provider_content.output_only" || r.Changes[0].GetContentIndex() != 1 || strings.Contains(string(r.Body), "citation") {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestRemovedSignatureIsReported(t *testing.T) {
	r, err := encode(t, New(), "gemini-3-flash-preview", func(g *llmdv1.Generation) {
		g.Context.Messages = append(g.Context.Messages, assistant(textBlock("t", ""), ownBlock("gemini-4-neon", "toolCall", `{"toolCall":{},"thoughtSignature":"QUI="}`)), user("go on"))
	})
	if err != nil || len(r.Changes) != 1 || r.Changes[0].GetRule() != "provider_content.signature_removed" || r.Changes[0].GetContentIndex() != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestImages(t *testing.T) {
	send := func(i *llmdv1.ImageContent) (string, error) {
		r, err := encode(t, New(), "gemini-2.5-flash", func(g *llmdv1.Generation) {
			g.Context.Messages = []*llmdv1.Message{{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{{Block: &llmdv1.UserContent_Image{Image: i}}}}}}}
		})
		if err != nil {
			return "", err
		}
		return string(r.Body), nil
	}
	url := func(uri, kind string) *llmdv1.ImageContent {
		return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: uri}, MimeType: kind}
	}
	for _, c := range []struct {
		image *llmdv1.ImageContent
		kind  string
	}{
		{picture("image/png"), "image/png"},
		{picture("image/JPG"), "image/jpeg"},
		{picture("image/heic"), "image/heic"},
		{url("data:image/webp;base64,+/8=", ""), "image/webp"},
		{url("data:image/webp;charset=x;base64,+/8=", "image/png"), "image/png"},
	} {
		got, err := send(c.image)
		if want := `{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"` + c.kind + `","data":"+/8="}}]}]}`; err != nil || got != want {
			t.Errorf("%v: %v\n%s\nwant\n%s", c.image, err, got, want)
		}
	}
	for _, c := range []struct {
		image *llmdv1.ImageContent
		field string
	}{
		{picture("image/gif"), "mime_type"},
		{picture(""), "mime_type"},
		{url("https://example.com/a.png", "image/png"), "uri"},
		{url("data:image/gif,abc", ""), "mime_type"},
		{url("data:image/png;base64,!", ""), "uri"},
	} {
		_, err := send(c.image)
		var e *adapters.FieldError
		if !errors.As(err, &e) || e.Field != "generation.context.messages[0].user.content[0].image."+c.field {
			t.Errorf("%v: %v", c.image, err)
		}
	}
	_, err := encode(t, New(), "gemini-3-flash", func(g *llmdv1.Generation) {
		g.Context.Messages = append(g.Context.Messages, assistant(callBlock("1", "{}", "")), result("1", "t", false, picture("image/gif")))
	})
	var e *adapters.FieldError
	if !errors.As(err, &e) || e.Field != "generation.context.messages[2].tool_result.content[1].image.mime_type" {
		t.Errorf("in a result: %v", err)
	}
}

func TestBadProviderContent(t *testing.T) {
	_, err := encode(t, New(), "gemini-2.5-flash", func(g *llmdv1.Generation) {
		g.Context.Messages = append(g.Context.Messages, assistant(textBlock("t", ""), ownBlock("", "inlineData", `{"a":`)))
	})
	var e *adapters.FieldError
	if !errors.As(err, &e) || e.Field != "generation.context.messages[1].assistant.content[1].provider_content.raw_json" {
		t.Errorf("%v", err)
	}
}

// TestRecordedRoundTrip decodes answers and sends them back: every part returns to
// its place with its signature, except what is said about the whole answer.
func TestRecordedRoundTrip(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/fixtures/google-*/*/response.raw")
	if err != nil || len(paths) == 0 {
		t.Skip("../shared is absent: the recordings live beside the checkout") // TestRecordings fails in CI
	}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		a := adapterFor(filepath.Base(filepath.Dir(filepath.Dir(path))))
		recorded, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := adaptertest.FoldBody(a, setup(t, a, "gemini-3-flash", nil), string(recorded))
		if err != nil || got.Err != nil || len(got.Blocks) == 0 {
			continue // an error
		}
		var content []*llmdv1.AssistantContent
		var want []string // signatures in order
		for _, b := range got.Blocks {
			switch b.Kind {
			case adaptertest.KindText:
				content = append(content, textBlock(b.Text, b.Signature))
			case adaptertest.KindThinking:
				content = append(content, thinkingBlock(b.Text, b.Signature))
			case adaptertest.KindToolCall:
				content = append(content, callBlock(b.ID, b.Text, b.Signature))
			case adaptertest.KindProviderContent:
				content = append(content, ownBlock("gemini-3-flash", b.Name, b.Text))
			}
			if b.Signature != "" {
				want = append(want, b.Signature)
			}
			var own struct{ ThoughtSignature string }
			if b.Kind == adaptertest.KindProviderContent && json.Unmarshal([]byte(b.Text), &own) == nil && own.ThoughtSignature != "" {
				want = append(want, own.ThoughtSignature)
			}
		}
		r, err := encode(t, a, "gemini-3-flash", func(g *llmdv1.Generation) {
			g.Context.Messages = append(g.Context.Messages, assistant(content...), user("go on"))
		})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Contents []struct {
				Parts []struct{ ThoughtSignature string }
			}
		}
		if err := json.Unmarshal(r.Body, &body); err != nil || len(body.Contents) != 3 {
			t.Fatalf("%s: %v, %d contents", name, err, len(body.Contents))
		}
		var have []string
		for _, p := range body.Contents[1].Parts {
			if p.ThoughtSignature != "" {
				have = append(have, p.ThoughtSignature)
			}
		}
		if strings.Join(have, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: signatures are %v, want %v", name, have, want)
		}
	}
}
