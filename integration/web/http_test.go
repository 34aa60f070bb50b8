package web

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

const (
	complete = llmdv1.InferenceService_Complete_FullMethodName
	streamed = llmdv1.InferenceService_Stream_FullMethodName
	ask      = `{"generation": {"model": "faux/echo", "context": {"messages": [{"user": {"content": [{"text": {"text": "Hello"}}]}}]}}}`
)

// request is plain HTTP, as curl would send it.
type request struct {
	method, path, body string
	header             http.Header
	chunked            bool
}

type response struct {
	status int
	header http.Header
	body   string
	// code, reason and message are of an error in Connect's JSON.
	code, reason, message string
}

// of names headers in pairs.
func of(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func asJSON(more ...string) http.Header {
	return of(append([]string{"Content-Type", "application/json"}, more...)...)
}

func (l *lab) send(t *testing.T, q request) response {
	t.Helper()
	if q.method == "" {
		q.method = http.MethodPost
	}
	var body io.Reader = strings.NewReader(q.body)
	if q.chunked {
		body = io.MultiReader(body) // of no length that the client knows
	}
	r, err := http.NewRequestWithContext(limited(t), q.method, "http://"+l.tcp+q.path, body)
	if err != nil {
		t.Fatal(err)
	}
	if q.header != nil {
		r.Header = q.header
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	resp, err := l.client(t, way{}, nil).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := response{status: resp.StatusCode, header: resp.Header, body: string(text)}
	wire := text
	if f := frames(text); len(f) > 0 && f[len(f)-1].flags == 2 { // the end of a stream
		var end struct{ Error json.RawMessage }
		_ = json.Unmarshal([]byte(f[len(f)-1].text), &end)
		wire = end.Error
	}
	var e struct {
		Code, Message string
		Details       []struct{ Debug struct{ Reason string } }
	}
	if json.Unmarshal(wire, &e) == nil && len(e.Details) > 0 {
		got.reason = e.Details[0].Debug.Reason
	}
	got.code, got.message = e.Code, e.Message
	return got
}

type frame struct {
	flags byte
	text  string
}

// frames takes a body of Connect's streams apart.
func frames(body []byte) []frame {
	var all []frame
	for len(body) >= 5 {
		n := int(binary.BigEndian.Uint32(body[1:5]))
		if n > len(body)-5 {
			return nil
		}
		all = append(all, frame{body[0], string(body[5 : 5+n])})
		body = body[5+n:]
	}
	return all
}

func inFrame(text string) string {
	var b bytes.Buffer
	b.WriteByte(0)
	_ = binary.Write(&b, binary.BigEndian, uint32(len(text)))
	b.WriteString(text)
	return b.String()
}

// JSON is protobuf's: names in camel case, 64-bit numbers as texts, what is empty left
// out. It is there without a library's header, and with a charset.
func TestJSON(t *testing.T) {
	l := start(t, "providers:\n  - {id: lab, api: faux, base_url: 'http://127.0.0.1:1', models: [{id: m, pricing: {input: 3, output: 15}}]}\n")
	got := l.send(t, request{path: llmdv1.ModelService_GetModel_FullMethodName, body: `{"name": "lab/m"}`, header: of("Content-Type", "application/json;charset=UTF-8")})
	var model struct {
		Model struct {
			Name    string
			Pricing struct{ Input, Output any }
		}
	}
	if err := json.Unmarshal([]byte(got.body), &model); err != nil || got.status != 200 || got.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%v, %+v", err, got)
	}
	if d := cmp.Diff("providers/lab/models/m", model.Model.Name); d != "" {
		t.Error(d)
	}
	if !strings.Contains(strings.ReplaceAll(got.body, " ", ""), `"inputPicoUsdPerToken":"3000000"`) {
		t.Errorf("a 64-bit number: %s", got.body)
	}
	if strings.Contains(got.body, "cacheRead") || strings.Contains(got.body, "null") {
		t.Errorf("what is empty is there: %s", got.body)
	}
}

// A stream as JSON: a frame for each event, and one that ends it.
func TestJSONStream(t *testing.T) {
	l := start(t, "")
	got := l.send(t, request{path: streamed, body: inFrame(ask), header: of("Content-Type", "application/connect+json")})
	all := frames([]byte(got.body))
	if len(all) < 5 || got.header.Get("Content-Type") != "application/connect+json" {
		t.Fatalf("%+v", got)
	}
	var text string
	for i, f := range all[:len(all)-1] {
		var e struct {
			SequenceNumber int
			TextDelta      struct{ Delta string }
		}
		if err := json.Unmarshal([]byte(f.text), &e); err != nil || f.flags != 0 || e.SequenceNumber != i {
			t.Errorf("event %d: %v, %+v", i, err, f)
		}
		text += e.TextDelta.Delta
	}
	if text != "Hello" {
		t.Errorf("text %q", text)
	}
	var end struct {
		Error    any
		Metadata map[string][]string
	}
	last := all[len(all)-1]
	if err := json.Unmarshal([]byte(last.text), &end); err != nil || last.flags != 2 || end.Error != nil || len(end.Metadata["Llmd-Response-Id"]) != 1 {
		t.Errorf("the end: %v, %+v", err, last)
	}
}

// What cannot be a call is refused in words that help.
func TestRefusals(t *testing.T) {
	l := start(t, "  max_receive_bytes: 64KiB\n")
	connectJSON := of("Content-Type", "application/connect+json")
	large := `{"generation": {"model": "` + strings.Repeat("x", 70<<10) + `"}}`
	for name, c := range map[string]struct {
		q                     request
		status                int
		code, reason, message string
	}{
		"a misspelt field":       {request{path: complete, body: `{"generaton": {}}`, header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", `unknown field "generaton"`},
		"a misspelt enum":        {request{path: complete, body: `{"generation": {"reasoning": {"effort": "LOTS"}}}`, header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", "LOTS"},
		"no JSON":                {request{path: complete, body: `{"generation`, header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", "not the method's request message"},
		"JSON twice":             {request{path: complete, body: ask + ask, header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", "not the method's request message"},
		"an array":               {request{path: complete, body: `[]`, header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", "not the method's request message"},
		"nothing":                {request{path: complete, header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", "an empty message is {}"},
		"an empty message":       {request{path: complete, body: "{}", header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", "must be set"},
		"a stream as one":        {request{path: streamed, body: ask, header: asJSON()}, 400, "invalid_argument", "INVALID_REQUEST", "application/connect+json"},
		"a compressed one":       {request{path: complete, body: "x", header: asJSON("Content-Encoding", "gzip")}, 501, "unimplemented", "", "compressed"},
		"compressed in a frame":  {request{path: streamed, body: "\x01\x00\x00\x00\x01x", header: connectJSON}, 200, "unimplemented", "", "compressed"},
		"a stream without frame": {request{path: streamed, body: ask, header: connectJSON}, 200, "invalid_argument", "INVALID_REQUEST", "length in the frame"},
		"a frame cut off":        {request{path: streamed, body: inFrame(ask)[:20], header: connectJSON}, 200, "invalid_argument", "INVALID_REQUEST", "length in the frame"},
		"a frame of 4 GiB":       {request{path: streamed, body: "\x00\xff\xff\xff\xff{}", header: connectJSON}, 200, "invalid_argument", "INVALID_REQUEST", "length in the frame"},
		"half a frame":           {request{path: streamed, body: "\x00", header: connectJSON}, 200, "invalid_argument", "INVALID_REQUEST", "one message in its frame"},
		"two frames":             {request{path: streamed, body: inFrame(ask) + inFrame(ask), header: connectJSON}, 200, "invalid_argument", "INVALID_REQUEST", "length in the frame"},
		"a large one":            {request{path: complete, body: large, header: asJSON()}, 429, "resource_exhausted", "", "server.max_receive_bytes"},
		"a large one in pieces":  {request{path: complete, body: large, header: asJSON(), chunked: true}, 429, "resource_exhausted", "", "server.max_receive_bytes"},
		"no time limit":          {request{path: complete, body: ask, header: asJSON("Connect-Timeout-Ms", "1.5")}, 400, "invalid_argument", "INVALID_REQUEST", "Connect-Timeout-Ms must be a number of milliseconds"},
		"no time limit, framed":  {request{path: streamed, body: inFrame(ask), header: of("Content-Type", "application/connect+json", "Connect-Timeout-Ms", "-5")}, 200, "invalid_argument", "INVALID_REQUEST", "Connect-Timeout-Ms"},
		"no time left":           {request{path: complete, body: ask, header: asJSON("Connect-Timeout-Ms", "0")}, 504, "deadline_exceeded", "DEADLINE_EXCEEDED", "deadline has passed"},
		"another method":         {request{path: "/llmd.v1.InferenceService/Nope", body: "{}", header: asJSON()}, 501, "unimplemented", "", "paths are gRPC's"},
		"reflection":             {request{path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", body: inFrame("{}"), header: connectJSON}, 200, "unimplemented", "", "no such method"},
		"a form":                 {request{path: complete, body: "a=b", header: of("Content-Type", "application/x-www-form-urlencoded")}, 415, "", "", ""},
		"plain text":             {request{path: complete, body: ask, header: of("Content-Type", "text/plain")}, 415, "", "", ""},
		"no type":                {request{path: complete, body: ask}, 415, "", "", ""},
		"another charset":        {request{path: complete, body: ask, header: of("Content-Type", "application/json; charset=latin1")}, 415, "", "", ""},
		"GET":                    {request{method: "GET", path: complete + "?connect=v1&encoding=json&message=%7B%7D"}, 405, "", "", ""},
		"gRPC over HTTP/1.1":     {request{path: complete, body: inFrame(""), header: of("Content-Type", "application/grpc")}, 505, "", "", ""},
		"base64 of gRPC-Web":     {request{path: streamed, body: "AAAAAAA=", header: of("Content-Type", "application/grpc-web-text")}, 415, "", "", ""},
	} {
		got := l.send(t, c.q)
		if got.status != c.status || got.code != c.code || got.reason != c.reason || !strings.Contains(got.message, c.message) {
			t.Errorf("%s: %d %q %q %q, want %d %q %q %q\n%s", name, got.status, got.code, got.reason, got.message, c.status, c.code, c.reason, c.message, got.body)
		}
		if got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: a browser may take it for a page: %v", name, got.header)
		}
	}
	if got := l.send(t, request{path: complete, body: ask, header: asJSON()}); got.status != 200 {
		t.Errorf("a good one: %+v", got)
	}
	for _, body := range []string{`{"generaton": {}}`, `{"generation`, ""} { // by the codec and before it
		const line = `msg="web request refused" code=invalid_argument reason=INVALID_REQUEST`
		before := strings.Count(l.log.String(), line)
		l.send(t, request{path: complete, body: body, header: asJSON()})
		if n := strings.Count(l.log.String(), line) - before; n != 1 {
			t.Errorf("%q has %d lines in the log, want 1", body, n)
		}
	}
	if strings.Contains(l.log.String(), "generaton") || !strings.Contains(l.log.String(), "reason=INVALID_REQUEST") {
		t.Errorf("the log:\n%s", l.log)
	}
}

// Headers count, and what belongs to a connection or a browser stays outside.
func TestHeaders(t *testing.T) {
	l := start(t, "")
	got := l.send(t, request{path: complete, body: ask, header: asJSON("X-Large", strings.Repeat("x", 80<<10))})
	if got.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("80 KiB: %d %s", got.status, got.body)
	}
	many := asJSON()
	for range 4000 {
		many.Add("A", "b") // 4,000 * (1 + 1 + 32) bytes as HTTP/2 counts
	}
	if got := l.send(t, request{path: complete, body: ask, header: many}); got.code != "resource_exhausted" {
		t.Errorf("4,000 headers: %d %.300s", got.status, got.body)
	}
	got = l.send(t, request{path: complete, body: ask, header: asJSON("Connection", "close, x-hop", "X-Hop", "1", "Keep-Alive", "5", "Upgrade", "h2c", "Te", "gzip", "Expect", "100-continue", "Cookie", "a=b")})
	if got.status != 200 {
		t.Errorf("headers of the connection: %+v", got)
	}
	got = l.send(t, request{path: complete, body: ask, header: asJSON("Connect-Timeout-Ms", "nonsense")})
	if got.status != 400 {
		t.Errorf("a timeout that is no number: %+v", got)
	}
	got = l.send(t, request{path: complete, body: ask, header: asJSON("X-Data-Bin", "***")})
	if got.status < 400 {
		t.Errorf("binary metadata that is none: %+v", got)
	}
	_ = harness.Canary
}
