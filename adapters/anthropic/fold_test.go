package anthropic

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/jsonstream"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// shared finds the recordings and cases, which are not part of the repository.
func shared(t *testing.T, elem ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "..", "shared"}, elem...)...)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is absent, and CI must not go without it", dir)
		}
		t.Skipf("%s is absent", dir)
	}
	return dir
}

// folded is an answer put together from parts.
type folded struct {
	blocks    []*foldedBlock
	stop      llmdv1.StopReason
	word      string
	failure   *adapters.UpstreamError // of the stop
	usage     *llmdv1.Usage
	id, model string
	remarks   []string
	complete  bool
	err       error // of Decode or Finish
}

type foldedBlock struct {
	kind      string // text, thinking, tool_call or provider_content
	text      string // arguments of a call, JSON of provider content
	signature string
	format    string
	redacted  bool
	id, name  string
	ended     bool
}

// fold reads a body to its end.
func fold(t testing.TB, r io.Reader) *folded {
	t.Helper()
	f := &folded{}
	frames := frame.NewReader(frame.SSE, r, 0)
	d := New().NewDecoder(&adapters.Call{Model: &profile.Model{Provider: "anthropic"}})
	open := map[int]*foldedBlock{}
	var sink adapters.Sink
	for {
		sink.Reset()
		fr, err := frames.Next()
		if err == nil {
			err = d.Decode(fr, &sink)
		}
		for _, p := range sink.Parts {
			f.part(t, open, p)
		}
		if errors.Is(err, io.EOF) {
			sink.Reset()
			f.err = d.Finish(&sink)
			return f
		}
		if err != nil {
			f.err = err
			return f
		}
	}
}

func (f *folded) part(t testing.TB, open map[int]*foldedBlock, p adapters.Part) {
	t.Helper()
	block := func(kind string) *foldedBlock {
		b := open[p.Block]
		if b == nil {
			b = &foldedBlock{kind: kind}
			open[p.Block] = b
			f.blocks = append(f.blocks, b)
		}
		if b.kind != kind || b.ended {
			t.Errorf("a part of kind %d for block %d, which is %s, ended %v", p.Kind, p.Block, b.kind, b.ended)
		}
		return b
	}
	switch p.Kind {
	case adapters.PartText:
		block("text").text += p.Text
	case adapters.PartThinking:
		block("thinking").text += p.Text
	case adapters.PartRedacted:
		block("thinking").redacted = true
	case adapters.PartToolCall:
		b := block("tool_call")
		b.id, b.name = p.ID, p.Name
	case adapters.PartArguments:
		block("tool_call").text += p.Text
	case adapters.PartSignature:
		b := block("thinking")
		b.signature, b.format = string(p.Data), p.Format
	case adapters.PartEnd:
		if b := open[p.Block]; b == nil || b.ended {
			t.Errorf("block %d ends without being open", p.Block)
		} else {
			b.ended = true
		}
	case adapters.PartProviderContent:
		b := block("provider_content")
		b.name, b.text, b.ended = p.Name, string(p.Data), true
	case adapters.PartIDs:
		f.id, f.model = p.ID, p.Name
	case adapters.PartUsage:
		f.usage = p.Usage
	case adapters.PartStop:
		if f.stop != 0 {
			t.Errorf("a second stop %v", p.Stop)
		}
		f.stop, f.word, f.failure = p.Stop, p.Name, p.Err
	case adapters.PartComplete:
		f.complete = true
	case adapters.PartDiagnostic:
		f.remarks = append(f.remarks, p.Name)
	case adapters.PartServiceTier:
		f.remarks = append(f.remarks, "tier "+p.Name)
	default:
		t.Errorf("a part of kind %d", p.Kind)
	}
}

// foldText folds a body that is at hand, whole and in reads of one byte.
func foldText(t testing.TB, body string) *folded {
	t.Helper()
	bytewise := fold(t, iotest.OneByteReader(bytes.NewReader([]byte(body))))
	f := fold(t, bytes.NewReader([]byte(body)))
	if a, b := f.describe(), bytewise.describe(); a != b {
		t.Errorf("cut into bytes it reads\n%s\nwhole\n%s", b, a)
	}
	return f
}

// describe is all of it on lines, for comparing and for reading.
func (f *folded) describe() string {
	var b bytes.Buffer
	for _, x := range f.blocks {
		b.WriteString(x.describe() + "\n")
	}
	b.WriteString("stop " + f.stop.String() + " " + f.word + "\n")
	if f.failure != nil {
		b.WriteString("failure " + f.failure.Reason + ": " + f.failure.Message + "\n")
	}
	if f.err != nil {
		b.WriteString("error " + f.err.Error() + "\n")
	}
	for _, r := range f.remarks {
		b.WriteString("remark " + r + "\n")
	}
	return b.String()
}

func (x *foldedBlock) describe() string {
	s := x.kind + " "
	switch x.kind {
	case "tool_call":
		s += x.id + " " + x.name + " " + jsonstream.Repair([]byte(jsonwire.Clean(x.text))).JSON
	case "provider_content":
		s += x.name + " " + x.text
	default:
		s += jsonwire.Clean(x.text)
	}
	if x.redacted {
		s += " redacted"
	}
	if x.signature != "" {
		s += " [" + x.format + " " + x.signature + "]"
	}
	if !x.ended {
		s += " open"
	}
	return s
}
