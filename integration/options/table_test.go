package options

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// answer is what PrepareContext says.
type answer struct {
	response *llmdv1.PrepareContextResponse
	body     *node
	refusal  *refusal
}

// refusal is an error, as a client sees it.
type refusal struct {
	code, reason, capability, message string
	fields                            []string
}

// row is a wish put to a model.
type row struct {
	wish
	target
	// without is the answer without the wish, with the one with it; changes and
	// headers are what came of it.
	without, with *answer
	changes       []change
	headers       []string
}

// TestOptions asks once and looks at the rows from all sides.
func TestOptions(t *testing.T) {
	rows := ask(t)
	t.Logf("%d rows: %d wishes for %d models", len(rows), len(wishes())+len(conflicts()), len(targets()))
	t.Run("laws", func(t *testing.T) { checkLaws(t, rows) })
	t.Run("golden", func(t *testing.T) { checkGolden(t, rows) })
	t.Run("docs", func(t *testing.T) { checkDocs(t, rows) })
}

// ask puts every wish to every model. Where the conversation that a wish is added to
// is refused already, there is no row: that one has a row of its own.
func ask(t *testing.T) []row {
	t.Helper()
	client := &asker{t: t, client: harness.Start(t, configuration), bases: map[string]*answer{}}
	var rows []row
	for _, w := range slices.Concat(wishes(), conflicts()) {
		for _, to := range targets() {
			r := row{wish: w, target: to, without: client.base(w.base, to)}
			if r.without.refusal != nil {
				continue
			}
			g := w.base.request(to)
			w.set(g, to)
			r.with = client.twice(g)
			r.compare()
			rows = append(rows, r)
		}
	}
	return rows
}

type asker struct {
	t      *testing.T
	client llmdv1.InferenceServiceClient
	bases  map[string]*answer
}

func (a *asker) base(b base, to target) *answer {
	key := string(b) + "|" + to.name
	if a.bases[key] == nil {
		a.bases[key] = a.twice(b.request(to))
	}
	return a.bases[key]
}

// twice asks for the same thing again: caches at providers live on equal bytes.
func (a *asker) twice(g *llmdv1.Generation) *answer {
	a.t.Helper()
	first, second := a.prepare(g), a.prepare(proto.CloneOf(g))
	if !proto.Equal(first.response, second.response) {
		a.t.Errorf("%s: the same request does not give the same bytes", g.GetModel())
	}
	return first
}

func (a *asker) prepare(g *llmdv1.Generation) *answer {
	a.t.Helper()
	r, err := a.client.PrepareContext(context.Background(), &llmdv1.PrepareContextRequest{Generation: g})
	if err != nil {
		return &answer{refusal: refused(err)}
	}
	body, err := parse([]byte(r.GetRequest().GetBodyJson()))
	if err != nil {
		a.t.Fatalf("%s: the body: %v in %s", g.GetModel(), err, r.GetRequest().GetBodyJson())
	}
	return &answer{response: r, body: body}
}

func refused(err error) *refusal {
	s := status.Convert(err)
	r := &refusal{code: s.Code().String(), message: s.Message()}
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			r.reason, r.capability = d.GetReason(), d.GetMetadata()["capability"]
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				r.fields = append(r.fields, v.GetField())
			}
		}
	}
	return r
}

// compare finds what came of the wish.
func (r *row) compare() {
	if r.with.refusal != nil {
		return
	}
	r.changes = diff("", r.without.body, r.with.body)
	old, now := r.without.response.GetRequest(), r.with.response.GetRequest()
	for _, name := range slices.Sorted(maps.Keys(now.GetHeaders())) {
		if v := now.GetHeaders()[name]; old.GetHeaders()[name] != v {
			r.headers = append(r.headers, fmt.Sprintf("%s: %s", name, v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old.GetHeaders())) {
		if _, there := now.GetHeaders()[name]; !there {
			r.headers = append(r.headers, "-"+name)
		}
	}
	if old.GetUrl() != now.GetUrl() {
		r.headers = append(r.headers, "URL "+now.GetUrl())
	}
}

// name says which row it is.
func (r *row) name() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s, %s: %s=%s", r.api, r.label, r.option, r.value)
	if r.base != plain {
		fmt.Fprintf(&b, " (%s)", r.wish.base)
	}
	return b.String()
}
