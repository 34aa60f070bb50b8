package google

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// block is what the parts of one block come to.
type block struct {
	Kind           string // "text", "thinking", "tool_call" or "provider"
	Text, ID, Name string // Text: arguments of a tool call, JSON of the provider's
	Signature      string
	Ended          bool
}

// answer is what the parts of an answer come to.
type answer struct {
	Blocks     []*block
	Stop       llmdv1.StopReason
	Word       string
	Usage      *llmdv1.Usage
	ID, Model  string
	Tier       string
	Err        *adapters.UpstreamError // of the terminal marker
	stopFrames int                     // frames read when the marker came
}

// fold is a small stand-in for the service's assembler. It fails where parts break
// the rules of the seam.
func (a *answer) fold(t *testing.T, parts []adapters.Part, byKey map[int]*block) {
	t.Helper()
	open := func(p adapters.Part, kind string) *block {
		b := byKey[p.Block]
		if b == nil {
			b = &block{Kind: kind}
			byKey[p.Block] = b
			a.Blocks = append(a.Blocks, b)
		}
		if b.Kind != kind {
			t.Errorf("block %d is %s and %s", p.Block, b.Kind, kind)
		}
		if b.Ended {
			t.Errorf("block %d goes on after its end", p.Block)
		}
		return b
	}
	for _, p := range parts {
		switch p.Kind {
		case adapters.PartText:
			open(p, "text").Text += p.Text
		case adapters.PartThinking:
			open(p, "thinking").Text += p.Text
		case adapters.PartToolCall:
			b := open(p, "tool_call")
			if b.ID == "" {
				b.ID = p.ID
			}
			if b.Name == "" {
				b.Name = p.Name
			}
		case adapters.PartArguments:
			open(p, "tool_call").Text += p.Text
		case adapters.PartSignature:
			b := byKey[p.Block]
			if b == nil || p.Format != "google.thought" {
				t.Fatalf("signature of format %q for block %d", p.Format, p.Block)
			}
			b.Signature = string(p.Data)
		case adapters.PartProviderContent:
			b := open(p, "provider")
			b.Name, b.Text, b.Ended = p.Name, string(p.Data), true
		case adapters.PartEnd:
			byKey[p.Block].Ended = true
		case adapters.PartIDs:
			if a.ID == "" {
				a.ID = p.ID
			}
			if a.Model == "" {
				a.Model = p.Name
			}
		case adapters.PartUsage:
			a.Usage = p.Usage
		case adapters.PartServiceTier:
			a.Tier = p.Name
		case adapters.PartStop:
			if a.Stop == 0 {
				a.Stop, a.Word, a.Err = p.Stop, p.Name, p.Err
			}
		default:
			t.Errorf("unexpected part %+v", p)
		}
	}
}

// read decodes a body. frames < 0 means all of them.
func read(t *testing.T, a *Adapter, body io.Reader, frames int) (*answer, error) {
	t.Helper()
	r := frame.NewReader(a.Framing(), body, 0)
	d := a.NewDecoder(&adapters.Call{})
	out, byKey := &answer{}, map[int]*block{}
	var sink adapters.Sink
	for n := 0; n != frames; n++ {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		sink.Reset()
		err = d.Decode(f, &sink)
		clear(f.Data) // nothing may hold on to it
		out.fold(t, sink.Parts, byKey)
		if err != nil {
			return out, err
		}
		if out.Stop != 0 && out.stopFrames == 0 {
			out.stopFrames = n + 1
		}
	}
	sink.Reset()
	err := d.Finish(&sink)
	out.fold(t, sink.Parts, byKey)
	for _, b := range out.Blocks {
		b.Text = jsonwire.Clean(b.Text)
	}
	return out, err
}

func readBytes(t *testing.T, a *Adapter, body []byte) (*answer, error) {
	t.Helper()
	return read(t, a, bytes.NewReader(body), -1)
}

func readSlowly(t *testing.T, a *Adapter, body []byte) (*answer, error) {
	t.Helper()
	return read(t, a, iotest.OneByteReader(bytes.NewReader(body)), -1)
}

// adapterFor is the adapter of an API's id.
func adapterFor(api string) *Adapter {
	if api == vertexAPI {
		return NewVertex()
	}
	return New()
}

// shared finds a folder beside the repository, and skips the test where it is not.
func shared(t *testing.T, pattern string) []string {
	t.Helper()
	const root = "../../../shared"
	if _, err := os.Stat(root); err != nil {
		if strings.EqualFold(os.Getenv("CI"), "true") {
			t.Fatal("../shared is absent")
		}
		t.Skip("../shared is absent: no recordings to read")
	}
	found, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("nothing matches %s in ../shared: %v", pattern, err)
	}
	return found
}
