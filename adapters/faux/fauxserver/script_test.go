package fauxserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// between are the events of a script's answer without start and usage, which come
// with every answer.
func between(t *testing.T, request string) []string {
	t.Helper()
	status, body := post(t, Handler(), "/v1/generate", request)
	if status != 200 {
		t.Fatalf("status %d: %s", status, body)
	}
	var l []string
	for _, e := range events(body) {
		if !strings.Contains(e, `"type":"start"`) && !strings.Contains(e, `"type":"usage"`) {
			l = append(l, e)
		}
	}
	return l
}

func TestScripts(t *testing.T) {
	stop := `{"type":"stop","reason":"stop"}`
	for name, c := range map[string]struct {
		script string
		want   []string
	}{
		"one step": {`faux: {"text":"hi there","delay_ms":1}`, []string{
			`{"type":"text","block":0,"text":"hi "}`, `{"type":"text","block":0,"text":"there"}`, `{"type":"end","block":0}`, stop,
		}},
		"nothing":    {`faux: []`, []string{stop}},
		"empty text": {`faux:[{"text":""}]`, []string{`{"type":"text","block":0,"text":""}`, `{"type":"end","block":0}`, stop}},
		"thinking": {`faux: [{"thinking":"é"},{"redacted":"x"}]`, []string{
			`{"type":"thinking","block":0,"text":"é"}`,
			`{"type":"signature","block":0,"signature":"` + Sign("echo", "é") + `"}`, `{"type":"end","block":0}`,
			`{"type":"redacted","block":1,"signature":"` + redact("echo", "x") + `"}`, `{"type":"end","block":1}`, stop,
		}},
		"repeat and chunk": {`faux: [{"text":"abc","repeat":2,"chunk":2}]`, []string{
			`{"type":"text","block":0,"text":"ab"}`, `{"type":"text","block":0,"text":"c"}`,
			`{"type":"text","block":0,"text":"ab"}`, `{"type":"text","block":0,"text":"c"}`, `{"type":"end","block":0}`, stop,
		}},
		"arguments": {`faux: [{"tool_call":{"id":"i1","name":"f","arguments":{"a": 1.0}}}]`, []string{
			`{"type":"tool_call","block":0,"id":"i1","name":"f"}`,
			`{"type":"args","block":0,"text":"{\"a\": "}`, `{"type":"args","block":0,"text":"1.0}"}`, `{"type":"end","block":0}`,
			`{"type":"stop","reason":"tool_use"}`,
		}},
		"interleaved": {`faux: [{"tool_calls":[{"id":"a","name":"f","arguments_text":"12"},{"id":"b","name":"g"}],"chunk":1}]`, []string{
			`{"type":"tool_call","block":0,"id":"a","name":"f"}`, `{"type":"tool_call","block":1,"id":"b","name":"g"}`,
			`{"type":"args","block":0,"text":"1"}`, `{"type":"args","block":1,"text":"{"}`,
			`{"type":"args","block":0,"text":"2"}`, `{"type":"args","block":1,"text":"}"}`,
			`{"type":"end","block":0}`, `{"type":"end","block":1}`, `{"type":"stop","reason":"tool_use"}`,
		}},
		"stop":              {`faux: [{"stop":"bored","message":"m"},{"text":"never"}]`, []string{`{"type":"stop","reason":"bored","message":"m"}`}},
		"error event":       {`faux: [{"delay_ms":1},{"error":"rate_limit"}]`, []string{`{"type":"error","error":{"type":"rate_limit","message":"Too many requests.","retry_after_ms":1000}}`}},
		"error comes first": {`faux: {"error":"before"}`, []string{`{"type":"error","error":{"type":"overloaded","message":"Overloaded."}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, between(t, says("echo", c.script))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A script may speak for several turns; after them the model reports the results.
func TestScriptOfTurns(t *testing.T) {
	script := `faux: [[{"tool_call":{"id":"a","name":"f"}}],[{"text":"Second."}]]`
	call := `,{"role":"assistant","content":[{"type":"tool_call","id":"a","name":"f","arguments":{}}]},` +
		`{"role":"tool","tool_call_id":"a","is_error":true,"content":[{"type":"text","text":"42"}]}`
	history := func(script, more string) string {
		return strings.TrimSuffix(says("echo", script), "]}") + more + "]}"
	}
	text := func(request string) string {
		l := between(t, request)
		return strings.Join(l[:len(l)-2], "")
	}
	if got, want := text(history(script, call)), `{"type":"text","block":0,"text":"Second."}`; got != want {
		t.Errorf("second turn: %s, want %s", got, want)
	}
	flat := `faux: [{"tool_call":{"id":"a","name":"f"}}]`
	if got := text(history(flat, call)); !strings.Contains(got, `"text":"42"`) || !strings.Contains(got, `"text":"failed: "`) {
		t.Errorf("after a flat script: %s", got)
	}
}

func TestBadScripts(t *testing.T) {
	for script, want := range map[string]string{
		`faux:`:                                 "script: ",
		`faux: hello`:                           "script: ",
		`faux: {"txt":"x"}`:                     "unknown field",
		`faux: {"error":"boredom"}`:             "unknown error",
		`faux: {"text":"x","delay_ms":-1}`:      "out of range",
		`faux: {"text":"x","delay_ms":3600001}`: "out of range",
		`faux: {"text":"1234567890123456789012345678901234567890","repeat":1000000}`: "more than",
		`faux: [{"text":"x"},{"error":"html"}]`:                                      "must come first",
	} {
		status, body := post(t, Handler(), "/v1/generate", says("echo", script))
		if status != 400 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want 400 with %q", script, status, body, want)
		}
	}
}
