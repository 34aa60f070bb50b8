package frame

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// Recorded answers of every provider, outside the repository.
const recordings = "../../../shared/fixtures"

func kindOf(api string) Kind {
	switch {
	case strings.HasPrefix(api, "bedrock"):
		return EventStream
	case strings.HasPrefix(api, "google"):
		return JSON
	default:
		return SSE
	}
}

// Every recording is cut into the payloads that another reader of its framing
// finds, each of them whole JSON or the end marker.
func TestRecordings(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(recordings, "*", "*", "response.raw"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("../shared/fixtures is absent")
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	for _, path := range paths {
		scenario := filepath.Dir(path)
		api := filepath.Base(filepath.Dir(scenario))
		t.Run(api+"/"+filepath.Base(scenario), func(t *testing.T) { checkRecording(t, kindOf(api), scenario) })
	}
}

func checkRecording(t *testing.T, kind Kind, scenario string) {
	body, err := os.ReadFile(filepath.Join(scenario, "response.raw"))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := os.ReadFile(filepath.Join(scenario, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var facts struct{ Framing string }
	if err := json.Unmarshal(meta, &facts); err != nil {
		t.Fatal(err)
	}

	got := readAll(t, kind, bytes.NewReader(body), 0)
	if got.Err != said(io.EOF) {
		t.Fatalf("ended with %s", got.Err)
	}
	var payloads []string
	for _, f := range got.Frames {
		payloads = append(payloads, string(f.Data))
		if !json.Valid(f.Data) && string(f.Data) != "[DONE]" {
			t.Errorf("frame %d at %d is not JSON", f.Index, f.Offset)
		}
	}
	if diff := differ(otherwise(t, facts.Framing, body), payloads); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	spoiled := readAll(t, kind, spoiler{&atMost{bytes.NewReader(body), 700}}, 0)
	if diff := differ(got, spoiled); diff != "" {
		t.Errorf("(-whole +spoiled)\n%s", diff)
	}
	bytewise := readAll(t, kind, iotest.OneByteReader(bytes.NewReader(body)), 0)
	if diff := differ(got, bytewise); diff != "" {
		t.Errorf("(-whole +one byte)\n%s", diff)
	}
}

// otherwise reads the payloads of a body by its recorded framing, without this
// package.
func otherwise(t *testing.T, framing string, body []byte) []string {
	t.Helper()
	var payloads []string
	switch framing {
	case "sse":
		for _, f := range wholeText(string(body)) {
			payloads = append(payloads, string(f.Data))
		}
	case "json":
		payloads = append(payloads, strings.TrimSpace(string(body)))
	case "json-array":
		var elements []json.RawMessage
		if err := json.Unmarshal(body, &elements); err != nil {
			t.Fatal(err)
		}
		for _, e := range elements {
			payloads = append(payloads, string(e))
		}
	case "eventstream":
		for r := bytes.NewReader(body); r.Len() > 0; {
			m, err := eventstream.NewDecoder().Decode(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			payloads = append(payloads, string(m.Payload))
		}
	default:
		t.Fatalf("unknown framing %q", framing)
	}
	return payloads
}
