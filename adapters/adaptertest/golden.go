package adaptertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream/eventstreamapi"
	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"

	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// golden is one golden file.
type golden struct {
	archive *txtar.Archive
	body    []byte
	model   *profile.Model
	status  int // 0 = the body is an answer
	header  http.Header
	want    string
}

func parseGolden(a adapters.Adapter, text []byte) (*golden, error) {
	g := &golden{archive: txtar.Parse(text), model: defaultModel(a.API(), a.API(), "model")}
	wires := 0
	for _, f := range g.archive.Files {
		var err error
		switch f.Name {
		case "wire":
			wires++
			g.body = f.Data
		case "wire.quoted":
			wires++
			g.body, err = unquote(f.Data)
		case "wire.frames":
			wires++
			g.body, err = encodeFrames(f.Data)
		case "model":
			err = readModel(g.model, f.Data)
		case "status":
			err = g.readStatus(f.Data)
		case "want":
			g.want = string(f.Data)
		default:
			err = errors.New("there is no such section")
		}
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", f.Name, err)
		}
	}
	if wires != 1 {
		return nil, fmt.Errorf("there must be one wire section, not %d", wires)
	}
	return g, nil
}

// withWant is the file with another want section.
func (g *golden) withWant(want string) []byte {
	for i := range g.archive.Files {
		if f := &g.archive.Files[i]; f.Name == "want" {
			f.Data = []byte(want)
			return txtar.Format(g.archive)
		}
	}
	g.archive.Files = append(g.archive.Files, txtar.File{Name: "want", Data: []byte(want)})
	return txtar.Format(g.archive)
}

// defaultModel is a model that can do everything, at a host that nothing special
// is known of.
func defaultModel(api, provider, id string) *profile.Model {
	return &profile.Model{
		ID:        id,
		Provider:  provider,
		API:       api,
		Reasoning: true,
		Input:     []llmdv1.Modality{llmdv1.Modality_MODALITY_TEXT, llmdv1.Modality_MODALITY_IMAGE},
		Compat:    profile.Defaults(api),
	}
}

func readModel(m *profile.Model, text []byte) error {
	var y struct {
		ID        string    `yaml:"id"`
		Provider  string    `yaml:"provider"`
		API       string    `yaml:"api"`
		Reasoning *bool     `yaml:"reasoning"`
		Images    *bool     `yaml:"images"`
		Compat    yaml.Node `yaml:"compat"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&y); err != nil {
		return err
	}
	for field, value := range map[*string]string{&m.ID: y.ID, &m.Provider: y.Provider, &m.API: y.API} {
		if value != "" {
			*field = value
		}
	}
	if y.Reasoning != nil {
		m.Reasoning = *y.Reasoning
	}
	if y.Images != nil && !*y.Images {
		m.Input = m.Input[:1]
	}
	if y.Compat.Kind == 0 {
		return nil
	}
	overlay, err := profile.ParseOverlay(&y.Compat)
	if err != nil {
		return err
	}
	m.Compat = profile.Defaults(m.API)
	overlay.Apply(&m.Compat)
	return nil
}

// readStatus reads a status and header lines, as HTTP has them.
func (g *golden) readStatus(text []byte) error {
	first, rest, _ := strings.Cut(string(text), "\n")
	var err error
	if g.status, err = strconv.Atoi(strings.TrimSpace(first)); err != nil {
		return err
	}
	h, err := textproto.NewReader(bufio.NewReader(strings.NewReader(rest + "\n"))).ReadMIMEHeader()
	g.header = http.Header(h)
	return err
}

func unquote(text []byte) ([]byte, error) {
	var body []byte
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		s, err := strconv.Unquote(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		body = append(body, s...)
	}
	return body, nil
}

// encodeFrames makes an AWS event stream of JSON lines.
func encodeFrames(text []byte) ([]byte, error) {
	var body strings.Builder
	e := eventstream.NewEncoder()
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var f struct {
			Event     string          `json:"event"`
			Exception bool            `json:"exception"`
			Payload   json.RawMessage `json:"payload"`
		}
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			return nil, err
		}
		kind, nameHeader := eventstreamapi.EventMessageType, eventstreamapi.EventTypeHeader
		if f.Exception {
			kind, nameHeader = eventstreamapi.ExceptionMessageType, eventstreamapi.ExceptionTypeHeader
		}
		m := eventstream.Message{Payload: f.Payload}
		m.Headers.Set(eventstreamapi.MessageTypeHeader, eventstream.StringValue(kind))
		m.Headers.Set(nameHeader, eventstream.StringValue(f.Event))
		if err := e.Encode(&body, m); err != nil {
			return nil, err
		}
	}
	return []byte(body.String()), nil
}
