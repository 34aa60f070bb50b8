package providersim

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// request bodies with tools and thinking, one for each API; %d makes them differ.
func askingBodies() map[[2]string]string {
	const tools = `"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}]`
	const messages = `"messages":[{"role":"user","content":"%d"}]`
	return map[[2]string]string{
		{Anthropic, "claude-sonnet-4-5"}: `{"model":"claude-sonnet-4-5","max_tokens":4096,"thinking":{"type":"enabled","budget_tokens":1024},` +
			`"tools":[{"name":"look","input_schema":{"type":"object","properties":{"q":{"type":"string"}}}}],` + messages + `}`,
		{Chat, "anthropic/claude"}: `{"model":"anthropic/claude","stream":true,"reasoning":{"effort":"low"},` + tools + `,` + messages + `}`,
		{Chat, "qwen3"}:            `{"model":"qwen3","stream":true,"enable_thinking":true,` + tools + `,` + messages + `}`,
		{Responses, "gpt-5"}: `{"model":"gpt-5","stream":true,"store":false,"tools":[{"type":"function","name":"look","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}],` +
			`"input":[{"role":"user","content":"%d"}]}`,
		{Gemini, "gemini-3-pro"}: `{"contents":[{"role":"user","parts":[{"text":"%d"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true}},` +
			`"tools":[{"functionDeclarations":[{"name":"look","parametersJsonSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]}]}`,
		{Bedrock, "anthropic.claude-sonnet-4-5-v1:0"}: `{"messages":[{"role":"user","content":[{"text":"%d"}]}],` +
			`"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1024}},` +
			`"toolConfig":{"tools":[{"toolSpec":{"name":"look","inputSchema":{"json":{"type":"object","properties":{"q":{"type":"string"}}}}}}]}}`,
		{Mistral, "magistral-medium"}: `{"model":"magistral-medium","stream":true,` + tools + `,` + messages + `}`,
	}
}

// The same request gives the same answer, another one another; and over many requests
// everything that a provider says is said.
func TestAnswers(t *testing.T) {
	for to, body := range askingBodies() {
		t.Run(to[0]+" "+to[1], func(t *testing.T) {
			ends, kinds, several := map[end]int{}, map[saidKind]int{}, 0
			for i := range 400 {
				text := fmt.Appendf(nil, body, i)
				if found := Check(to[0], to[1], text); len(found) > 0 {
					t.Fatal(found)
				}
				first := Answer(to[0], to[1], text)
				if !bytes.Equal(first, Answer(to[0], to[1], text)) {
					t.Fatal("the answer is another one the second time")
				}
				if i > 0 && bytes.Equal(first, Answer(to[0], to[1], fmt.Appendf(nil, body, i-1))) {
					t.Fatal("another request gets the same answer")
				}
				r, err := newRequest(to[0], to[1], text)
				if err != nil {
					t.Fatal(err)
				}
				a := r.reply()
				ends[a.end]++
				calls := 0
				for _, p := range a.pieces {
					kinds[p.kind]++
					if p.kind == saidCall {
						calls++
					}
				}
				if calls > 1 {
					several++
				}
				if (calls > 0) != (a.end == endCalls) {
					t.Fatalf("%d calls and end %d", calls, a.end)
				}
			}
			want := 4
			if to[0] == Anthropic {
				want++ // it pauses
			}
			if len(ends) != want || kinds[saidThinking] == 0 || kinds[saidText] == 0 || kinds[saidCall] == 0 || several == 0 {
				t.Errorf("ends %v, kinds %v, %d with several calls", ends, kinds, several)
			}
		})
	}
	if Answer(Anthropic, "m", []byte("{")) != nil || Answer("no-such-api", "m", []byte("{}")) != nil {
		t.Error("an answer to nothing")
	}
}

func TestServer(t *testing.T) {
	s := httptest.NewServer(&Server{})
	defer s.Close()
	cases := []struct {
		path, body string
		status     int
		holds      string
	}{
		{Anthropic + "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`, 200, "event: message_stop"},
		{
			Anthropic + "/v1/messages", `{"model":"m","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`, 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Input should be`,
		},
		{Chat + "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 200, "data: [DONE]"},
		{Chat + "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":null}]}`, 400, `"param":"messages.0.content"`},
		{Responses + "/v1/responses", `{"model":"gpt-5","store":false,"input":[{"type":"reasoning","id":"rs_1","summary":[]},{"role":"assistant","content":"x"}]}`, 404, "not found"},
		{Gemini + "/v1beta/models/gemini-3-pro:streamGenerateContent", `{"contents":[{"role":"user","parts":[{"text":"x"}]}]}`, 200, `"modelVersion":"gemini-3-pro"`},
		{Gemini + "/v1beta/models/gemini-3-pro:streamGenerateContent", `{"contents":[]}`, 400, `"status":"INVALID_ARGUMENT"`},
		{Bedrock + "/model/anthropic.claude-opus-4-6-v1%3A0/converse-stream", `{"messages":[{"role":"user","content":[{"text":"x"}]}]}`, 200, "messageStop"},
		{
			Bedrock + "/model/anthropic.claude-opus-4-6-v1%3A0/converse-stream", `{"messages":[{"role":"user","content":[{"text":"x"}]},{"role":"assistant","content":[{"text":"x"}]}]}`,
			400, `{"message":"This model does not support assistant message prefill.`,
		},
		{Mistral + "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 200, "data: [DONE]"},
		{Mistral + "/v1/chat/completions", `{"model":"m","seed":1,"messages":[{"role":"user","content":"x"}]}`, 422, `"object":"error"`},
		{"no-such-api/v1", `{}`, 404, ""},
	}
	for _, c := range cases {
		resp, err := http.Post(s.URL+"/"+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.holds) {
			t.Errorf("%s: %d %s, want %d %s", c.path, resp.StatusCode, body, c.status, c.holds)
		}
	}
}
