package faults

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// TestMain makes sure that nothing runs on after the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long asks for the long form.
func long() bool { return os.Getenv("LLMD_LONG") != "" }

// hosts are one provider for each wire, with its API's name as id.
func hosts(p *Player, wires []*Wire) []*harness.Host { return hostsAs("p-", p, wires) }

func hostsAs(prefix string, p *Player, wires []*Wire) []*harness.Host {
	var out []*harness.Host
	for _, w := range wires {
		h := &harness.Host{ID: prefix + w.API, API: w.API, Base: p.URL + w.Base, Models: []harness.Model{{ID: "m", Reasoning: true}}}
		if p.CAFile != "" {
			h.More = fmt.Sprintf("    ca_file: %q\n", p.CAFile)
		}
		out = append(out, h)
	}
	return out
}

// spoken are the wires that this llmd speaks.
func spoken(t testing.TB) []*Wire {
	t.Helper()
	all := Wires()
	l := harness.Start(t, "", hosts(&Player{URL: "http://127.0.0.1:1"}, all)...)
	var out []*Wire
	for _, w := range all {
		_, err := l.PrepareContext(harness.Limited(t, 5*time.Second), &llmdv1.PrepareContextRequest{Generation: harness.Ask("p-"+w.API+"/m", "hello")})
		if harness.ReasonOf(err) == "API_UNSUPPORTED" {
			t.Logf("%s is not spoken yet", w.API)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", w.API, err)
		}
		out = append(out, w)
	}
	return out
}

func request(w *Wire, s *Script, id string) *llmdv1.StreamRequest {
	return &llmdv1.StreamRequest{Generation: harness.Ask("p-"+w.API+"/m", s.Prompt(), "lookup"), RequestId: id}
}

// TestSamples: without a fault every wire gives the same answer.
func TestSamples(t *testing.T) {
	wires := spoken(t)
	p := NewPlayer(t)
	l := harness.Start(t, "", hosts(p, wires)...)
	for _, w := range wires {
		t.Run(w.API, func(t *testing.T) {
			a := Sample()
			frames := w.Frames(a)
			s := p.Add(func(e *Exchange) bool {
				e.Head(200, "Content-Type: "+w.ContentType)
				e.Play(frames)
				return e.End()
			})
			o := harness.Run(harness.Limited(t, 10*time.Second), l, request(w, s, ""), nil)
			for _, f := range o.Faults {
				t.Error(f)
			}
			if u := o.Message.GetUsage(); o.Stop() != "TOOL_USE" || u.GetInputTokens() != int32(a.In) || u.GetOutputTokens() != int32(a.Out) {
				t.Errorf("%s, %v: %s", o.Stop(), u, o.Words())
			}
			want := added(frames)
			for _, b := range o.Fold {
				if b.Raw.String() != want[b.Kind] {
					t.Errorf("%s is %q, want %q", b.Kind, b.Raw.String(), want[b.Kind])
				}
			}
		})
	}
}
