package integration

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// success: a stop reason that needs the provider's terminal marker.
func success(stop string) bool { return stop == "STOP" || stop == "LENGTH" || stop == "TOOL_USE" }

// boundaries are the places after each frame of a text body, and of an AWS event
// stream the places after each message.
func boundaries(r *recording) []int {
	var out []int
	switch r.folder {
	case "bedrock-converse-stream":
		for at := 0; at+4 <= len(r.body); {
			n := int(r.body[at])<<24 | int(r.body[at+1])<<16 | int(r.body[at+2])<<8 | int(r.body[at+3])
			if n < 16 || at+n > len(r.body) {
				break
			}
			at += n
			out = append(out, at)
		}
	default:
		for at := 0; ; {
			i := bytes.IndexByte(r.body[at:], '\n')
			if i < 0 {
				break
			}
			at += i + 1
			out = append(out, at)
		}
	}
	return out
}

// TestTruncation cuts a sample of recordings at frame boundaries and near the end,
// through a socket. Every byte is cut in process by adapters/adaptertest.
func TestTruncation(t *testing.T) {
	for _, a := range recordedAPIs {
		t.Run(a.folder, func(t *testing.T) {
			rs := slices.DeleteFunc(loadRecordings(t, a.folder), func(r *recording) bool {
				return r.Kind != "stream" || len(r.body) > 60_000
			})
			if len(rs) > 12 {
				step := len(rs) / 12
				var sample []*recording
				for i := 0; i < len(rs); i += step {
					sample = append(sample, rs[i])
				}
				rs = sample
			}
			up := newReplay(t)
			l := start(t, hostsOf(up, rs)...)
			for _, r := range rs {
				t.Run(r.Scenario, func(t *testing.T) {
					t.Parallel()
					r.truncate(t, l, up)
				})
			}
		})
	}
}

func (r *recording) truncate(t *testing.T, l *llmd, up *replay) {
	full := l.stream(limited(t, 30*time.Second), r.request(up.add(r.script())), nil)
	cuts := boundaries(r)
	if len(cuts) > 40 {
		step := len(cuts) / 40
		var few []int
		for i := 0; i < len(cuts); i += step {
			few = append(few, cuts[i])
		}
		cuts = few
	}
	for back := range min(60, len(r.body)) {
		cuts = append(cuts, len(r.body)-back)
	}
	slices.Sort(cuts)
	reached := false // the terminal marker has come: no later cut may take it back
	kept := -1
	for _, at := range slices.Compact(cuts) {
		s := r.script()
		s.body = r.body[:at]
		o := l.stream(limited(t, 30*time.Second), r.request(up.add(s)), nil)
		for _, f := range o.Faults {
			t.Errorf("cut at %d: grammar: %s", at, f)
		}
		switch {
		case success(o.Stop()) && o.Stop() != full.Stop():
			t.Errorf("cut at %d: %s, the whole gives %s", at, o.Stop(), full.Stop())
		case reached && !success(o.Stop()):
			t.Errorf("cut at %d: %s, though an earlier cut had the marker", at, o.Stop())
		case o.Stop() == "ERROR" && full.Stop() != "ERROR" && o.Reason() != "PROVIDER_STREAM_TRUNCATED":
			t.Errorf("cut at %d: reason %s", at, o.Reason())
		}
		reached = reached || success(o.Stop())
		n := 0
		for i, b := range o.Fold {
			n += b.Raw.Len()
			if i >= len(full.Fold) || !bytes.HasPrefix([]byte(full.Fold[i].Raw.String()), []byte(b.Raw.String())) {
				t.Errorf("cut at %d: block %d is no prefix of the whole", at, i)
				break
			}
		}
		if n < kept {
			t.Errorf("cut at %d: %d bytes, an earlier cut kept %d", at, n, kept)
		}
		kept = n
	}
	if full.Stop() != "ERROR" && !reached {
		t.Errorf("no cut reached the end that the whole has: %s", full.Stop())
	}
}
