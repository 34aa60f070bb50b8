package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/frame"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// toy is a wire API of three events, {"text": "..."}, {"raw": {...}} and
// {"stop": "..."}, read rightly or with one mistake.
type toy struct {
	mistake string
	framing frame.Kind
	count   int // what a decoder must not change
}

func (*toy) API() string                                      { return "toy" }
func (a *toy) Framing() frame.Kind                            { return a.framing }
func (*toy) Constraints(*profile.Model) adapters.Constraints  { return adapters.Constraints{} }
func (*toy) Encode(*adapters.Call) (*adapters.Request, error) { return &adapters.Request{}, nil }
func (a *toy) NewDecoder(*adapters.Call) adapters.Decoder     { return &toyDecoder{toy: a} }
func (*toy) DecodeError(status int, _ http.Header, b []byte) *adapters.UpstreamError {
	return adapters.Classify(adapters.ErrorFacts{Status: status, Message: string(bytes.TrimSpace(b))})
}

type toyDecoder struct {
	toy     *toy
	stopped bool
	stop    string
}

type toyEvent struct {
	Text *string         `json:"text"`
	Raw  json.RawMessage `json:"raw"`
	Stop string          `json:"stop"`
}

func (d *toyDecoder) Decode(f frame.Frame, s *adapters.Sink) error {
	var e toyEvent
	if err := json.Unmarshal(f.Data, &e); err != nil {
		d.broken(f, s)
		return errors.New("toy: not JSON")
	}
	switch {
	case e.Text != nil:
		d.text(*e.Text, s)
	case len(e.Raw) > 0:
		raw := bytes.Clone(e.Raw)
		if d.toy.mistake == "keeps the frame" {
			i := bytes.Index(f.Data, e.Raw)
			raw = f.Data[i : i+len(e.Raw)]
		}
		s.ProviderContent(1, "raw", raw)
	case e.Stop != "":
		d.stopped, d.stop = true, e.Stop
		if d.toy.mistake == "stops late" {
			return nil
		}
		s.Stop(llmdv1.StopReason_STOP_REASON_STOP, e.Stop)
		s.Complete()
	}
	return nil
}

func (d *toyDecoder) text(text string, s *adapters.Sink) {
	switch d.toy.mistake {
	case "shares state":
		d.toy.count++
		text += strings.Repeat("!", d.toy.count)
	case "text behind the end":
		s.Text(0, "")
		s.End(0)
	}
	s.Text(0, text)
}

// broken is called with a frame that is not JSON.
func (d *toyDecoder) broken(f frame.Frame, s *adapters.Sink) {
	switch d.toy.mistake {
	case "guesses a stop":
		if strings.Contains(string(f.Data), `"stop":"e`) {
			s.Stop(llmdv1.StopReason_STOP_REASON_STOP, "end")
		}
	case "invents text":
		s.Text(0, "?")
	}
}

func (d *toyDecoder) Finish(s *adapters.Sink) error {
	switch {
	case d.toy.mistake == "never truncated":
		return nil
	case !d.stopped:
		return adapters.ErrTruncated
	case d.toy.mistake == "stops late":
		s.Stop(llmdv1.StopReason_STOP_REASON_STOP, d.stop)
	}
	return nil
}
