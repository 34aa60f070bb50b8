package adapters

import (
	"errors"
	"strings"
	"testing"

	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/adapters/schema"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

func TestFitBudget(t *testing.T) {
	for name, c := range map[string]struct {
		want, limit int32
		named       bool
		budget      int32
		said        string
	}{
		"no limit":                     {want: 5000, budget: 5000},
		"fits":                         {want: 3072, limit: 4096, budget: 3072},
		"named, leaves little":         {want: 4095, limit: 4096, named: true, budget: 4095},
		"not named, leaves little":     {want: 4095, limit: 4096, budget: 3072, said: "3072 tokens instead of 4095"},
		"named, too much":              {want: 9000, limit: 4096, named: true, budget: 3072, said: "3072 tokens instead of 9000"},
		"least":                        {want: 9000, limit: 1025, named: true, budget: 1024, said: "1024 tokens instead of 9000"},
		"no room":                      {want: 9000, limit: 1024, named: true, said: "no room"},
		"small ones are never raised":  {want: 128, limit: 1000, budget: 128},
		"the model's choice (-1)":      {want: -1, limit: 100, budget: -1},
		"named, and the limit is less": {want: 900, limit: 900, named: true, said: "no room"},
	} {
		budget, note := FitBudget(c.want, c.limit, c.named)
		if budget != c.budget || !strings.Contains(note, c.said) || (note == "") != (c.said == "") {
			t.Errorf("%s: %d, %q, want %d, %q", name, budget, note, c.budget, c.said)
		}
	}
}

// TestToolOrder: sent by the bytes of the names, and told in the caller's order.
func TestToolOrder(t *testing.T) {
	g := &llmdv1.Generation{Context: &llmdv1.Context{}}
	for _, name := range []string{"b", "é", "_", "a", "B"} {
		g.Context.Tools = append(g.Context.Tools, &llmdv1.Tool{Name: name})
	}
	o, err := Negotiate(g, g.GetContext(), &profile.Model{})
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, tool := range o.Tools {
		sent = append(sent, tool.GetName())
	}
	if got := strings.Join(sent, " "); got != "B _ a b é" {
		t.Errorf("sent as %s", got)
	}
	if got := strings.Join(o.Effective(g).GetToolNames(), " "); got != "b é _ a B" {
		t.Errorf("told as %s", got)
	}
	if g.GetContext().GetTools()[0].GetName() != "b" {
		t.Error("the caller's own list is changed")
	}
}

// TestDefaultMaxOutput: what is only guessed makes nothing smaller.
func TestDefaultMaxOutput(t *testing.T) {
	prompt := func(tokens int) *llmdv1.Context {
		return &llmdv1.Context{SystemPrompt: strings.Repeat("x", tokens*35/10)}
	}
	for name, c := range map[string]struct {
		prompt int
		model  profile.Model
		want   int32
	}{
		"room":             {prompt: 1000, model: profile.Model{ContextWindow: 200_000, MaxOutput: 64_000}, want: 64_000},
		"little room":      {prompt: 180_000, model: profile.Model{ContextWindow: 200_000, MaxOutput: 64_000}, want: 200_000 - 180_000 - 4096},
		"no room":          {prompt: 300_000, model: profile.Model{ContextWindow: 200_000, MaxOutput: 64_000}, want: 1},
		"a guessed window": {prompt: 300_000, model: profile.Model{ContextWindow: 128_000, WindowGuessed: true, MaxOutput: 64_000}, want: 64_000},
		"unknown":          {prompt: 1000, model: profile.Model{ContextWindow: 200_000}},
	} {
		if got := DefaultMaxOutput(prompt(c.prompt), &c.model); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	o := &Options{SessionKey: strings.Repeat("é", 70)}
	if got := o.CacheKey(64); got != strings.Repeat("é", 64) {
		t.Errorf("cut to %q", got)
	}
	if got := (&Options{SessionKey: "a"}).CacheKey(64); got != "a" {
		t.Errorf("short: %q", got)
	}
	o.Retention = llmdv1.CacheRetention_CACHE_RETENTION_NONE
	if got := o.CacheKey(64); got != "" {
		t.Errorf("without caching: %q", got)
	}
	for in, want := range map[string]string{"a-b_c": "a-b_c", "a b\né": "a+b%0A%C3%A9", strings.Repeat("k", 300): strings.Repeat("k", 256), "": ""} {
		if got := HeaderKey(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestOrigin(t *testing.T) {
	c := &Call{
		Context:    &llmdv1.Context{Messages: make([]*llmdv1.Message, 3)},
		Generation: &llmdv1.Generation{Context: &llmdv1.Context{Messages: make([]*llmdv1.Message, 5)}},
	}
	if got := c.BlockField(2, "user", 1); got != "generation.context.messages[2].user.content[1]" {
		t.Error(got)
	}
	c.Origins = []Origin{{Message: 0}, {Message: 2, Blocks: []Place{{2, 3}, {4, 0}}}}
	for at, want := range map[int]string{
		0: "generation.context.messages[2].user.content[3]",
		1: "generation.context.messages[4].user.content[0]",
	} {
		if got := c.BlockField(1, "user", at); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := c.Origin(3); got.Message != 5 {
		t.Errorf("the end is %v", got)
	}
	if got := c.Change(1, 0, "r", "d"); got.GetMessageIndex() != 2 || got.ContentIndex != nil || got.GetRule() != "r" || got.GetDetail() != "d" {
		t.Errorf("got %v", got)
	}
	if got := c.ChangeBlock(1, 1, 0, "r", "d"); got.GetMessageIndex() != 4 || got.GetContentIndex() != 0 || got.ContentIndex == nil {
		t.Errorf("got %v", got)
	}
}

func TestToolSchema(t *testing.T) {
	const loose, never = `{"type":"object","properties":{"q":{"type":"string"}}}`, `{"type":"object","properties":{"q":{"oneOf":[]}}}`
	const strict = `{"type":"object","properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["q"],"additionalProperties":false}`
	require, prefer := llmdv1.StrictMode_STRICT_MODE_REQUIRE, llmdv1.StrictMode_STRICT_MODE_PREFER
	for name, c := range map[string]struct {
		schema string
		mode   llmdv1.StrictMode
		rules  ToolRules
		want   string // with a "!" before a strict one
		fails  string // what the error says
	}{
		"none":             {"", 0, ToolRules{}, schema.NoParameters, ""},
		"as it is":         {loose, llmdv1.StrictMode_STRICT_MODE_OFF, ToolRules{}, loose, ""},
		"typed":            {`{"properties":{}}`, 0, ToolRules{Typed: true}, `{"type":"object","properties":{}}`, ""},
		"listed":           {`{}`, 0, ToolRules{Typed: true, Listed: true}, `{"type":"object","properties":{}}`, ""},
		"typed and listed": {`{"required":[]}`, 0, ToolRules{Typed: true, Listed: true}, `{"type":"object","required":[],"properties":{}}`, ""},
		"a later draft":    {`{"properties":{"a":{"items":[{}]}}}`, 0, ToolRules{Typed: true, Draft: schema.Latest()}, `{"type":"object","properties":{"a":{"prefixItems":[{}]}}}`, ""},
		"flat":             {`{"type":"object","anyOf":[{"properties":{"a":{}}}]}`, 0, ToolRules{Root: schema.ClaudeRoot()}, `{"type":"object","properties":{"a":{}}}`, ""},
		"flat, listed":     {`{"type":"object","properties":{},"not":{}}`, prefer, ToolRules{Listed: true, Root: schema.OpenAIRoot()}, `{"type":"object","properties":{}}`, ""},
		"alone":            {`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$id":"x","$defs":{"A":{}}}`, 0, ToolRules{RootAlone: schema.NovaRoot()}, `{"type":"object","properties":{"a":{}}}`, ""},
		"not flat":         {`{"type":"object","oneOf":[{}]}`, require, ToolRules{Root: schema.ClaudeRoot()}, "", `tool "t": keyword "oneOf"`},
		"preferred":        {loose, prefer, ToolRules{}, "!" + strict, ""},
		"required":         {loose, require, ToolRules{}, "!" + strict, ""},
		"cannot, is fine":  {never, prefer, ToolRules{}, never, ""},
		"cannot":           {never, require, ToolRules{}, "", `tool "t": keyword "oneOf" at "/properties/q"`},
		"no mode, is fine": {loose, prefer, ToolRules{NotStrict: "the host has none"}, loose, ""},
		"no mode":          {loose, require, ToolRules{NotStrict: "the host has none"}, "", `tool "t": the host has none`},
	} {
		tool := &llmdv1.Tool{Name: "t", ParametersJsonSchema: c.schema, Strict: c.mode}
		call := &Call{Generation: &llmdv1.Generation{Context: &llmdv1.Context{Tools: []*llmdv1.Tool{{Name: "s"}, tool}}}}
		got, isStrict, err := call.ToolSchema(tool, c.rules)
		if isStrict {
			got = "!" + got
		}
		var e *CapabilityError
		switch {
		case c.fails == "" && (err != nil || got != c.want):
			t.Errorf("%s: %v, %s, want %s", name, err, got, c.want)
		case c.fails != "" && (!errors.As(err, &e) || e.Field != "generation.context.tools[1].strict" || !strings.HasPrefix(e.Detail, c.fails)):
			t.Errorf("%s: %+v, want %q", name, err, c.fails)
		}
	}
	call := &Call{Generation: &llmdv1.Generation{Context: &llmdv1.Context{Tools: []*llmdv1.Tool{{Name: "t"}}}}}
	_, _, err := call.ToolSchema(&llmdv1.Tool{Name: "t", ParametersJsonSchema: `[]`}, ToolRules{})
	if e := (*FieldError)(nil); !errors.As(err, &e) || e.Field != "generation.context.tools[0].parameters_json_schema" {
		t.Errorf("a list: %v", err)
	}
}

func TestWithProviderOptions(t *testing.T) {
	call := &Call{Model: &profile.Model{Provider: "p"}, Generation: &llmdv1.Generation{ProviderOptionsJson: map[string]string{"p": `{"stream":false,"b":{"y":2}}`, "q": `{"c":1}`}}}
	body := jsonwire.Body{Text: []byte(`{"stream":true,"b":{"x":1}}`)}
	got, err := call.WithProviderOptions(body, `{"stream":true}`)
	if want := `{"stream":true,"b":{"x":1,"y":2}}`; err != nil || string(got.Bytes()) != want {
		t.Errorf("%v, %s, want %s", err, got.Bytes(), want)
	}
	// Large data is put in before anything is laid over it.
	body = jsonwire.Body{Text: []byte(`{"image":""}`), Large: []jsonwire.Hole{{At: len(`{"image":"`), Data: []byte("abc")}}}
	got, err = call.WithProviderOptions(body, `{"stream":true}`)
	if want := `{"image":"YWJj","stream":true,"b":{"y":2}}`; err != nil || string(got.Bytes()) != want {
		t.Errorf("%v, %s, want %s", err, got.Bytes(), want)
	}
	call.Generation.ProviderOptionsJson["p"] = "["
	_, err = call.WithProviderOptions(jsonwire.Body{Text: []byte(`{}`)}, "{}")
	if e := (*FieldError)(nil); !errors.As(err, &e) || e.Field != "generation.provider_options_json[p]" {
		t.Errorf("%v", err)
	}
}

func TestReadFrame(t *testing.T) {
	for in, want := range map[string]string{
		`{"text":"a"}`:        "a",
		`{"text":"a\H"}`:      `a\H`,  // not escaped
		"{\"text\":\"a\nb\"}": "a\nb", // likewise
		`{"n":"x","text":1}`:  "",     // of a wrong type
	} {
		var v struct {
			Text string
			N    int
		}
		if err := ReadFrame(frame.Frame{Data: []byte(in)}, &v); err != nil || v.Text != want {
			t.Errorf("%s: %q, %v", in, v.Text, err)
		}
	}
	for cut, want := range map[bool]error{true: ErrTruncated, false: nil} {
		var v struct{ Text string }
		err := ReadFrame(frame.Frame{Index: 3, Data: []byte(`{"text":"secret`), Unterminated: cut}, &v)
		var e *FrameError
		if !errors.As(err, &e) || e.Index != 3 || strings.Contains(err.Error(), "secret") || errors.Is(err, ErrTruncated) != (want != nil) {
			t.Errorf("cut %v: %v", cut, err)
		}
	}
}
