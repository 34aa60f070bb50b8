package fauxserver

import (
	"strings"
	"testing"
)

// Each request breaks one rule of a strict provider.
func TestValidate(t *testing.T) {
	const (
		hi     = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
		call   = `{"role":"assistant","content":[{"type":"tool_call","id":"a","name":"f","arguments":{}}]}`
		result = `{"role":"tool","tool_call_id":"a","content":[]}`
	)
	history := func(messages ...string) string {
		return `{"model":"echo","messages":[` + strings.Join(messages, ",") + `]}`
	}
	assistant := func(block string) string { return `{"role":"assistant","content":[` + block + `]}` }
	for name, c := range map[string]struct {
		request string
		status  int
		want    string
	}{
		"fine":                {history(hi, call, result, hi), 200, ""},
		"not JSON":            {`{`, 400, "not the JSON"},
		"unknown model":       {`{"model":"gpt","messages":[` + hi + `]}`, 404, `model \"gpt\" not found`},
		"no messages":         {history(), 400, "there are none"},
		"assistant first":     {history(assistant(`{"type":"text","text":"x"}`)), 400, "must be the user's"},
		"assistant last":      {history(hi, assistant(`{"type":"text","text":"x"}`)), 400, "must not be the assistant's"},
		"unknown role":        {history(hi, `{"role":"system","content":[{"type":"text"}]}`), 400, "unknown role"},
		"empty content":       {history(`{"role":"user","content":[]}`), 400, "content is empty"},
		"call without result": {history(hi, call, hi), 400, `\"a\" has no result`},
		"results missing":     {history(hi, call), 400, `\"a\" has no result`},
		"result without call": {history(hi, result), 400, "no call before it"},
		"result twice":        {history(hi, call, result, result), 400, "no call before it"},
		"id twice":            {history(hi, call, result, call, result), 400, "is taken"},
		"bad id":              {history(hi, assistant(`{"type":"tool_call","id":"a|b","name":"f","arguments":{}}`)), 400, "the id must be"},
		"long id":             {history(hi, assistant(`{"type":"tool_call","id":"`+strings.Repeat("a", 65)+`","name":"f","arguments":{}}`)), 400, "the id must be"},
		"no name":             {history(hi, assistant(`{"type":"tool_call","id":"a","arguments":{}}`)), 400, "no name"},
		"arguments no object": {history(hi, assistant(`{"type":"tool_call","id":"a","name":"f","arguments":[]}`)), 400, "not an object"},
		"unsigned thinking":   {history(hi, assistant(`{"type":"thinking","thinking":"x"}`)), 400, "invalid signature"},
		"unknown block":       {history(hi, assistant(`{"type":"video"}`)), 400, "cannot hold"},
		"thinking by user":    {history(`{"role":"user","content":[{"type":"thinking"}]}`), 400, "cannot hold"},
		"empty image":         {history(`{"role":"user","content":[{"type":"image","mime_type":"image/png"}]}`), 400, "needs mime_type and data"},
		"image to text-only": {
			strings.Replace(history(`{"role":"user","content":[{"type":"image","mime_type":"image/png","data":"AQID"}]}`), "echo", "text-only", 1),
			400, "takes no images",
		},
		"tool twice":     {`{"model":"echo","tools":[{"name":"f"},{"name":"f"}],"messages":[` + hi + `]}`, 400, "is taken"},
		"tool unnamed":   {`{"model":"echo","tools":[{}],"messages":[` + hi + `]}`, 400, "no name"},
		"bad schema":     {`{"model":"echo","tools":[{"name":"f","parameters":[]}],"messages":[` + hi + `]}`, 400, "not an object"},
		"unknown choice": {`{"model":"echo","tool_choice":{"mode":"required","name":"g"},"messages":[` + hi + `]}`, 400, "no tool"},
		"forced nothing": {`{"model":"echo","tool_choice":{"mode":"required"},"messages":[` + hi + `]}`, 400, "there are no tools"},
		"odd mode":       {`{"model":"echo","tool_choice":{"mode":"maybe"},"messages":[` + hi + `]}`, 400, "unknown mode"},
		"too long":       {says("echo", strings.Repeat("abcd", 200_001)), 400, "prompt is too long: 200001 tokens > 200000 maximum"},
	} {
		status, body := post(t, Handler(), "/v1/generate", c.request)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", name, status, body, c.status, c.want)
		}
	}
	if status, _ := post(t, Handler(), "/v2/other", "{}"); status != 404 {
		t.Errorf("another path: %d, want 404", status)
	}
}

func TestImageOnly(t *testing.T) {
	request := `{"model":"echo","messages":[{"role":"user","content":[{"type":"image","mime_type":"image/png","data":"AQID"}]}]}`
	_, body := post(t, Handler(), "/v1/generate", request)
	var b strings.Builder
	for _, e := range events(body) {
		if _, text, ok := strings.Cut(e, `"type":"text","block":0,"text":"`); ok {
			b.WriteString(strings.TrimSuffix(text, `"}`))
		}
	}
	if b.String() != "You sent 1 image(s)." {
		t.Errorf("got %q", b.String())
	}
	// An image is 4,000 characters: 1,000 tokens.
	if !strings.Contains(body, `"input":1000,`) {
		t.Errorf("usage is wrong: %s", body)
	}
}
