package anthropic

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/adaptertest"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Histories are built with these.
var (
	shows = adaptertest.UserImage
)

// The first bytes say what an image is (https://mimesniff.spec.whatwg.org/).
const (
	png  = "\x89PNG\r\n\x1a\n"
	jpeg = "\xff\xd8\xff\xe0"
	gif  = "GIF89a"
	webp = "RIFF\x00\x00\x00\x00WEBPVP"
	bmp  = "BM\x00\x00"
)

func picture(data string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: []byte(data)}, MimeType: "image/bmp"}
}

func linked(uri string) *llmdv1.ImageContent {
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Uri{Uri: uri}}
}

func returnsImage(data string) *llmdv1.ToolResultContent {
	return &llmdv1.ToolResultContent{Block: &llmdv1.ToolResultContent_Image{Image: picture(data)}}
}

func imageJSON(mediaType, data string) string {
	return `{"type":"image","source":{"type":"base64","media_type":"` + mediaType + `","data":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `"}}`
}

func textJSON(s string) string { return `{"type":"text","text":"` + s + `"}` }

func callJSON(id, name, input string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":` + input + `}`
}

func resultJSON(id, content, failed string) string {
	return `{"type":"tool_result","tool_use_id":"` + id + `","content":` + content + `,"is_error":` + failed + `}`
}

func userJSON(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func assistantJSON(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func TestHistory(t *testing.T) {
	hi, call := user(text("hi")), assistant(calls("c1", "look", `{"q": 1.0}`))
	hiJSON, callsJSON := userJSON(textJSON("hi")), assistantJSON(callJSON("c1", "look", `{"q": 1.0}`))
	for name, c := range map[string]struct {
		set     func(*setup)
		history []*llmdv1.Message
		want    []string
	}{
		"blank texts are left out": {
			nil,
			[]*llmdv1.Message{user(text(" "), text("a"), text("")), assistant(says("\n"), says(" b "), says("")), user(text("c"))},
			[]string{userJSON(textJSON("a")), assistantJSON(textJSON(" b ")), userJSON(textJSON("c"))},
		},
		"turns that stay blank": {
			nil,
			[]*llmdv1.Message{hi, assistant(says(" ")), user(text("a")), assistant(says("b")), user(text(" "))},
			[]string{userJSON(textJSON("hi"), textJSON("a")), assistantJSON(textJSON("b")), userJSON(textJSON("(empty)"))},
		},
		"unknown blocks are skipped": {
			nil,
			[]*llmdv1.Message{user(&llmdv1.UserContent{}, text("a")), assistant(&llmdv1.AssistantContent{}, says("b")), user(text("c"))},
			[]string{userJSON(textJSON("a")), assistantJSON(textJSON("b")), userJSON(textJSON("c"))},
		},
		"results come first, in one turn, arguments as they were": {
			nil,
			[]*llmdv1.Message{hi, assistant(calls("c1", "look", `{"q": 1.0}`), calls("c2", "look", "")), result("c1", false, returns("one"), returns("two")), result("c2", true, returns("no")), user(text("and?"))},
			[]string{
				hiJSON, assistantJSON(callJSON("c1", "look", `{"q": 1.0}`), callJSON("c2", "look", `{}`)),
				userJSON(resultJSON("c1", `"one\ntwo"`, "false"), resultJSON("c2", `"no"`, "true"), textJSON("and?")),
			},
		},
		"results without text": {
			nil,
			[]*llmdv1.Message{hi, call, result("c1", true)},
			[]string{hiJSON, callsJSON, userJSON(resultJSON("c1", `"(no tool output)"`, "true"))},
		},
		"images in results": {
			nil,
			[]*llmdv1.Message{hi, call, result("c1", false, returns(" "), returnsImage(png)), result("c2", false, returns("see"), returnsImage(gif), returns("that"))},
			[]string{hiJSON, callsJSON, userJSON(
				resultJSON("c1", "["+textJSON("(see attached image)")+","+imageJSON("image/png", png)+"]", "false"),
				resultJSON("c2", "["+textJSON("see")+","+imageJSON("image/gif", gif)+","+textJSON("that")+"]", "false"))},
		},
		"thinking goes back with its signature": {
			nil,
			[]*llmdv1.Message{hi, assistant(thinks("T \n", thinkingFormat, "S=="), thinks("", thinkingFormat, "S2"), thinks("", redactedFormat, "R=="), says("a")), user(text("b"))},
			[]string{hiJSON, assistantJSON(`{"type":"thinking","thinking":"T \n","signature":"S=="}`, `{"type":"thinking","thinking":"","signature":"S2"}`,
				`{"type":"redacted_thinking","data":"R=="}`, textJSON("a")), userJSON(textJSON("b"))},
		},
		"thinking without a signature of this API is text": {
			nil,
			[]*llmdv1.Message{hi, assistant(thinks("T", "", ""), thinks("U", "google.thought", "S"), thinks(" ", "", "")), user(text("b"))},
			[]string{hiJSON, assistantJSON(textJSON("T"), textJSON("U")), userJSON(textJSON("b"))},
		},
		"or has an empty one where the host allows it": {
			func(s *setup) { s.m.Compat.AllowEmptySignature = true },
			[]*llmdv1.Message{hi, assistant(thinks("T", "", "")), user(text("b"))},
			[]string{hiJSON, assistantJSON(`{"type":"thinking","thinking":"T","signature":""}`), userJSON(textJSON("b"))},
		},
		"provider content keeps its bytes": {
			nil,
			[]*llmdv1.Message{hi, assistant(says("a"), opaqueContent("x", `{ "type":"x", "n":1.0, "e":"\u00e9" }`)), user(text("b"))},
			[]string{hiJSON, assistantJSON(textJSON("a"), `{ "type":"x", "n":1.0, "e":"\u00e9" }`), userJSON(textJSON("b"))},
		},
		"citations go back in their text": {
			nil,
			[]*llmdv1.Message{hi, assistant(says("a"), opaqueContent(citationsKind, `{"type":"text_citations","citations":[{"n":1.0}]}`), says("b"), opaqueContent(citationsKind, `[]`)), user(text("c"))},
			[]string{hiJSON, assistantJSON(`{"type":"text","text":"a","citations":[{"n":1.0}]}`, textJSON("b")), userJSON(textJSON("c"))},
		},
		"images are what their bytes are": {
			nil,
			[]*llmdv1.Message{user(shows(picture(png)), shows(picture(webp)), shows(linked("data:image/png;base64,"+base64.StdEncoding.EncodeToString([]byte(jpeg)))), shows(linked("DATA:,GIF89a%00")))},
			[]string{userJSON(imageJSON("image/png", png), imageJSON("image/webp", webp), imageJSON("image/jpeg", jpeg), imageJSON("image/gif", "GIF89a\x00"))},
		},
		"a prefill": {
			nil,
			[]*llmdv1.Message{hi, assistant(says("a"), says("The answer is ( \n"))},
			[]string{hiJSON, assistantJSON(textJSON("a"), textJSON("The answer is ("))},
		},
		"a paused turn goes on, thinking or not": {
			func(s *setup) { s.adaptive(effortHigh) },
			[]*llmdv1.Message{hi, assistant(says("a"), opaqueContent("server_tool_use", `{"type":"server_tool_use"}`))},
			[]string{hiJSON, assistantJSON(textJSON("a"), `{"type":"server_tool_use"}`)},
		},
	} {
		s := newSetup()
		s.uncached()
		s.history(c.history...)
		if c.set != nil {
			c.set(s)
		}
		r, err := s.encode(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, got, _ := strings.Cut(string(r.Body), `"messages":`)
		if d := cmp.Diff("["+strings.Join(c.want, ",")+"]}", got); d != "" {
			t.Errorf("%s: (-want +got)\n%s", name, d)
		}
	}
}

func TestHistoryReports(t *testing.T) {
	s := newSetup()
	s.history(user(text(" ")), assistant(says("a ")))
	r, err := s.encode(t)
	if err != nil || len(r.Changes) != 3 {
		t.Fatalf("error %v, changes %v", err, r.Changes)
	}
	if c := r.Changes[2]; c.GetRule() != "prefill.trimmed" || c.GetMessageIndex() != 1 || c.GetAction() != llmdv1.HandoffAction_HANDOFF_ACTION_REWRITTEN {
		t.Errorf("%v", c)
	}
	if a, b := r.Changes[0], r.Changes[1]; a.GetRule() != "text.empty" || b.GetRule() != "text.placeholder" || a.ContentIndex == nil || b.ContentIndex != nil {
		t.Errorf("%v, %v", a, b)
	}
}

func TestUnreadableBlocks(t *testing.T) {
	for field, m := range map[string]*llmdv1.Message{
		"messages[1].user.content[1].image.data":                     user(text("a"), shows(picture(bmp))),
		"messages[1].user.content[0].image.uri":                      user(shows(linked("https://example.com/a.png"))),
		"messages[1].user.content[2].image.uri":                      user(text("a"), text("b"), shows(linked("data:image/png;base64,!!"))),
		"messages[1].tool_result.content[0].image.data":              result("c1", true, returnsImage("")),
		"messages[1].assistant.content[0].provider_content.raw_json": assistant(opaqueContent("x", `{`)),
		"messages[1].assistant.content[1].provider_content.raw_json": assistant(says("a"), opaqueContent("x", ``)),
	} {
		s := newSetup()
		s.history(user(text("hi")), m)
		_, err := s.encode(t)
		var e *adapters.FieldError
		if !errors.As(err, &e) || e.Field != "generation.context."+field || strings.Contains(e.Error(), "example") {
			t.Errorf("%s: error %v", field, err)
		}
	}
}

// TestToolLoop: with a budget, a turn that called tools must have begun with its
// thinking while their results are handed in.
func TestToolLoop(t *testing.T) {
	thought := thinks("T", thinkingFormat, "S")
	hi, res := user(text("hi")), result("c1", false, returns("x"))
	call := calls("c1", "look", "{}")
	for name, c := range map[string]struct {
		history []*llmdv1.Message
		on      bool
	}{
		"no loop":                        {[]*llmdv1.Message{hi, assistant(says("a")), hi}, true},
		"thinking first":                 {[]*llmdv1.Message{hi, assistant(thought, call), res}, true},
		"redacted first":                 {[]*llmdv1.Message{hi, assistant(thinks("", redactedFormat, "R"), call), res}, true},
		"blank text before it":           {[]*llmdv1.Message{hi, assistant(says(" "), thinks("", "", ""), thought, call), res}, true},
		"none":                           {[]*llmdv1.Message{hi, assistant(call), res}, false},
		"text first":                     {[]*llmdv1.Message{hi, assistant(says("a"), thought, call), res}, false},
		"unsigned":                       {[]*llmdv1.Message{hi, assistant(thinks("T", "", ""), call), res}, false},
		"words after the results":        {[]*llmdv1.Message{hi, assistant(call), res, user(text("and?"))}, false},
		"thought once at its beginning":  {[]*llmdv1.Message{hi, assistant(thought, call), res, assistant(calls("c2", "look", "{}")), result("c2", false)}, true},
		"began elsewhere, thinks now":    {[]*llmdv1.Message{hi, assistant(call), res, assistant(thought, calls("c2", "look", "{}")), result("c2", false)}, true},
		"an earlier loop":                {[]*llmdv1.Message{hi, assistant(call), res, assistant(says("done")), user(text("next"))}, true},
		"only the loop before this one":  {[]*llmdv1.Message{hi, assistant(thought, call), res, assistant(says("done")), hi, assistant(calls("c2", "look", "{}")), result("c2", false)}, false},
		"only empty content of a caller": {[]*llmdv1.Message{hi, assistant(), res}, false},
	} {
		s := newSetup()
		s.tools("look")
		s.effort(effortHigh)
		s.history(c.history...)
		r, err := s.encode(t)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		on := strings.Contains(string(r.Body), `"budget_tokens"`)
		if reason := r.Effective.GetReasoningDisabledReason(); on != c.on || on != (reason == "") || on != (r.Header.Get("anthropic-beta") != "") {
			t.Errorf("%s: thinking is %v, reason %q, betas %q", name, on, reason, r.Header.Get("anthropic-beta"))
		}
	}
	s := newSetup()
	s.adaptive(effortHigh)
	s.history(hi, assistant(call), res)
	if r, err := s.encode(t); err != nil || !strings.Contains(string(r.Body), `"type":"adaptive"`) {
		t.Errorf("adaptive thinking asks for no thinking before: %v, %s", err, r.Body)
	}
}

func TestToolsOfHistory(t *testing.T) {
	s := newSetup()
	s.uncached()
	s.history(user(text("hi")), assistant(calls("c1", "look", "{}"), calls("c2", "a_b", "{}"), calls("c3", "look", "{}")), result("c1", false))
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	want := `"tools":[{"name":"look","input_schema":{"type":"object","properties":{}},"eager_input_streaming":true},` +
		`{"name":"a_b","input_schema":{"type":"object","properties":{}},"eager_input_streaming":true}],"tool_choice":{"type":"none"}`
	if !strings.Contains(string(r.Body), want) || len(r.Effective.GetAdjustments()) != 1 || len(r.Effective.GetToolNames()) != 0 {
		t.Errorf("%s\n%v", r.Body, r.Effective)
	}
}

// TestToolsOfProviderOptions: tools of the API's own come by provider options. With
// their calls in the history, nothing else is declared, and they may be called again.
func TestToolsOfProviderOptions(t *testing.T) {
	const own = `"tools":[{"type":"computer_20251124","name":"computer"}]`
	s := newSetup()
	s.uncached()
	s.history(user(text("hi")), assistant(calls("c1", "computer", "{}")), result("c1", false))
	s.g.ProviderOptionsJson = map[string]string{"anthropic": "{" + own + "}"}
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(r.Body), own) || strings.Contains(string(r.Body), "tool_choice") || len(r.Effective.GetAdjustments()) != 0 {
		t.Errorf("%s\n%v", r.Body, r.Effective)
	}
	s.mode(llmdv1.ToolMode_TOOL_MODE_NONE)
	if r, err = s.encode(t); err != nil || !strings.Contains(string(r.Body), `"tool_choice":{"type":"none"}`) {
		t.Errorf("the caller's own rule: %v %s", err, r.Body)
	}
}

// TestMarkers: at most four blocks may be marked, and none that grows.
func TestMarkers(t *testing.T) {
	s := newSetup()
	s.g.Context.SystemPrompt = "s"
	s.tools("a", "b", "c")
	s.history(user(text("1")), assistant(says("2")), user(text("3"), shows(picture(png))), assistant(says("4")))
	r, err := s.encode(t)
	if err != nil {
		t.Fatal(err)
	}
	body := string(r.Body)
	marker := `,"cache_control":{"type":"ephemeral"}}`
	image := imageJSON("image/png", png)
	if n := strings.Count(body, "cache_control"); n != 3 {
		t.Errorf("%d markers in %s", n, body)
	}
	for _, marked := range []string{textJSON("s"), strings.TrimSuffix(image, "}") + "}"} {
		if !strings.Contains(body, strings.TrimSuffix(marked, "}")+marker) {
			t.Errorf("%s is not marked in %s", marked, body)
		}
	}
}

func TestConstraints(t *testing.T) {
	s := newSetup()
	s.m.Compat.AllowEmptySignature = true
	c := New().Constraints(s.m)
	want := adapters.Constraints{
		Pairs: []adapters.Pair{
			{Call: "server_tool_use", Result: "*_tool_result", CallID: "id", ResultID: "tool_use_id"},
			{Call: "mcp_tool_use", Result: "mcp_tool_result", CallID: "id", ResultID: "tool_use_id"},
		},
		ToolCallIDs: adapters.IDRule{MaxLen: 64, WordChars: true}, ToolNames: adapters.NameRule{MaxLen: 64}, Images: true, MergeTurns: true, UserFirst: true, Prefill: true,
		ToolErrorFlag: true, SignatureFormats: []string{"anthropic.thinking", "anthropic.redacted_thinking"}, UnsignedThinking: true, ProviderContent: true,
		ImageTypes: []string{"image/jpeg", "image/png", "image/gif", "image/webp"}, AnswerAfterThinking: true, WholeSurrogates: true,
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	s.m.Input = s.m.Input[:1]
	if New().Constraints(s.m).Images {
		t.Error("a model for text takes images")
	}
}
