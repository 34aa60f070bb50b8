package fauxserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAnthropicHandler(t *testing.T) {
	const (
		head   = `{"model":"claude-demo","max_tokens":100,"stream":true,"system":[{"type":"text","text":"Be brief."}],"messages":[`
		hi     = `{"role":"user","content":"Hi"}`
		call   = `{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"call_1","name":"weather","input":{}}]}`
		result = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":"sunny"},{"type":"text","text":"And?"}]}`
	)
	assistant := func(block string) string { return `{"role":"assistant","content":[` + block + `]}` }
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"text":              {head + hi + `]}`, 200, "This is claude-demo, speaking anthropic-messages. I was given 1 message and no tool results."},
		"results":           {head + hi + "," + call + "," + result + `]}`, 200, "I was given 3 messages and 1 tool result; the last one says: sunny"},
		"not JSON":          {`{`, 400, "cannot be read"},
		"no model":          {`{"max_tokens":1,"stream":true,"messages":[` + hi + `]}`, 400, "model: field required"},
		"no limit":          {`{"model":"m","stream":true,"messages":[` + hi + `]}`, 400, "max_tokens"},
		"no stream":         {`{"model":"m","max_tokens":1,"messages":[` + hi + `]}`, 400, "only streams"},
		"no messages":       {head + `]}`, 400, "at least one message"},
		"assistant first":   {head + call + "," + result + `]}`, 400, "first message"},
		"assistant last":    {head + hi + "," + call + `]}`, 400, "prefill"},
		"result missing":    {head + hi + "," + call + "," + hi + `]}`, 400, "has no `tool_result`"},
		"two assistants":    {head + hi + "," + call + "," + call + "," + hi + `]}`, 400, "has no `tool_result`"},
		"result unexpected": {head + hi + "," + result + `]}`, 400, "unexpected `tool_use_id`"},
		"foreign thinking":  {head + hi + "," + assistant(`{"type":"thinking","thinking":"x","signature":"y"}`) + "," + hi + `]}`, 400, "Invalid `signature`"},
		"bad id":            {head + hi + "," + assistant(`{"type":"tool_use","id":"a|b","input":{}}`) + "," + hi + `]}`, 400, "must be unique"},
		"bad input":         {head + hi + "," + assistant(`{"type":"tool_use","id":"a","input":[]}`) + "," + hi + `]}`, 400, "must be an object"},
		"empty text":        {head + `{"role":"user","content":""}]}`, 400, "non-empty"},
		"unknown role":      {head + hi + `,{"role":"tool","content":"x"},` + hi + `]}`, 400, "unexpected role"},
		"unknown block":     {head + `{"role":"user","content":[{"type":"video"}]}]}`, 400, "unexpected type"},
	} {
		status, body := post(t, AnthropicHandler(), "/v1/messages", c.body)
		got := body
		if status == 200 {
			got = deltas(t, body, func(e dialectEvent) string { return e.Delta.Text })
			if !strings.Contains(body, "event: message_stop\n") || !strings.Contains(body, `"stop_reason":"end_turn"`) {
				t.Errorf("%s: no end: %s", name, body)
			}
		}
		if status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", name, status, got, c.status, c.want)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(head+hi+`]}`))
	w := httptest.NewRecorder()
	AnthropicHandler().ServeHTTP(w, r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), "anthropic-version") {
		t.Errorf("without a version: %d %s", w.Code, w.Body)
	}
}

func TestChatHandler(t *testing.T) {
	const (
		head   = `{"model":"gpt-demo","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},`
		hi     = `{"role":"user","content":[{"type":"text","text":"Hi"},{"type":"image_url"}]}`
		call   = `{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]}`
		result = `{"role":"tool","tool_call_id":"call_1","content":"sunny"}`
	)
	withCall := func(c string) string { return `{"role":"assistant","tool_calls":[` + c + `]}` }
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"text":              {head + hi + `]}`, 200, "This is gpt-demo, speaking openai-completions. I was given 1 message, 1 image and no tool results."},
		"results":           {head + hi + "," + call + "," + result + `]}`, 200, "I was given 3 messages, 1 image and 1 tool result; the last one says: sunny"},
		"not JSON":          {`{`, 400, "cannot be read"},
		"no model":          {`{"stream":true,"messages":[` + hi + `]}`, 400, "model"},
		"no stream":         {`{"model":"m","messages":[` + hi + `]}`, 400, "only streams"},
		"no messages":       {`{"model":"m","stream":true,"messages":[]}`, 400, "too short"},
		"result missing":    {head + hi + "," + call + "," + hi + `]}`, 400, "call_1 is missing"},
		"result at the end": {head + hi + "," + call + `]}`, 400, "no tool message"},
		"result unexpected": {head + hi + "," + result + `]}`, 400, "preceding message"},
		"long id":           {head + hi + "," + withCall(`{"id":"`+strings.Repeat("a", 41)+`","type":"function","function":{"name":"f","arguments":"{}"}}`) + `]}`, 400, "1 to 40"},
		"bad arguments":     {head + hi + "," + withCall(`{"id":"a","type":"function","function":{"name":"f","arguments":"{"}}`) + `]}`, 400, "not JSON"},
		"no function":       {head + hi + "," + withCall(`{"id":"a"}`) + `]}`, 400, "must be a function"},
		"empty assistant":   {head + hi + `,{"role":"assistant","content":null}]}`, 400, "needs content"},
		"empty user":        {head + `{"role":"user","content":[]}]}`, 400, "must not be empty"},
		"unknown role":      {head + `{"role":"robot","content":"x"}]}`, 400, "unknown role"},
		"unknown part":      {head + `{"role":"user","content":[{"type":"video"}]}]}`, 400, "cannot hold"},
	} {
		status, body := post(t, ChatHandler(), "/v1/chat/completions", c.body)
		got := body
		if status == 200 {
			got = deltas(t, body, func(e dialectEvent) string {
				if len(e.Choices) == 0 {
					return ""
				}
				return e.Choices[0].Delta.Content
			})
			if !strings.HasSuffix(body, "data: [DONE]\n\n") || !strings.Contains(body, `"finish_reason":"stop"`) || !strings.Contains(body, `"usage":{"prompt_tokens":`) {
				t.Errorf("%s: no end: %s", name, body)
			}
		}
		if status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", name, status, got, c.status, c.want)
		}
	}
}

// dialectEvent is what the texts of both dialects stand in.
type dialectEvent struct {
	Delta   struct{ Text string }
	Choices []struct{ Delta struct{ Content string } }
}

// deltas joins the texts of a stream and checks that every event is JSON.
func deltas(t *testing.T, body string, text func(dialectEvent) string) string {
	t.Helper()
	var b strings.Builder
	for _, data := range events(body) {
		if data == "[DONE]" {
			continue
		}
		var e dialectEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		b.WriteString(text(e))
	}
	return b.String()
}
