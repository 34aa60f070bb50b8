package adaptertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters"
)

// compare lists how an answer differs from the recording's expectation. err is
// how the decoding ended.
func (r *recording) compare(got *Folded, err error) problems {
	var p problems
	upstream := got.Err
	_ = errors.As(err, &upstream)
	// For Responses the contract leaves no choice: server-side tools alone are STOP
	// (1.19, 1.30).
	if stop := got.stop(err); stop != r.StopReason && (r.api == "openai-responses" || !r.accepts("stop_reason", stop)) {
		p.add("the stop reason is %s, want %s (%s)", stop, r.StopReason, Lines(nil, err))
	}
	r.compareContent(&p, got)
	switch cutOff := len(r.Accept["error_message"]) > 0 && errors.Is(err, adapters.ErrTruncated); {
	case got.stop(err) != "error" || cutOff:
	case upstream == nil:
		if r.Error != nil {
			p.add("the error is %v, want one of kind %s", err, r.Error.Kind)
		}
	default:
		p = append(p, r.compareError(upstream)...)
	}
	r.compareUsage(&p, got)
	r.compareID(&p, "response_id", r.ResponseID, got.ResponseID)
	if got.ResponseModel != "" || r.ResponseModel == nil || *r.ResponseModel != r.Model {
		r.compareID(&p, "response_model", r.ResponseModel, got.ResponseModel)
	}
	// A word for logs: any word of the provider's will do.
	if r.ProviderStop != nil && got.Word == "" && r.StopReason != "error" && !r.accepts("provider_stop_reason", "") {
		p.add("the provider's word for the stop is lost, want %q", *r.ProviderStop)
	}
	return p
}

func (r *recording) compareID(p *problems, field string, want *string, got string) {
	if want != nil && got != *want && !r.accepts(field, got) {
		p.add("%s is %q, want %q", field, got, *want)
	}
}

func (r *recording) compareUsage(p *problems, got *Folded) {
	u := got.Usage
	if len(r.Usage) == 0 {
		if u.GetTotalTokens() != 0 {
			p.add("usage is%s, though the wire has none", usageText(u))
		}
		return
	}
	for field, n := range map[string]int32{
		"input": u.GetInputTokens(), "cache_read": u.GetCacheReadTokens(), "cache_write": u.GetCacheWriteTokens(),
		"output": u.GetOutputTokens(), "reasoning": u.GetReasoningTokens(),
	} {
		if want := r.Usage[field]; want != nil && n != *want && !r.accepts("usage."+field, n) {
			p.add("usage.%s is %d, want %d", field, n, *want)
		}
	}
	sum := u.GetInputTokens() + u.GetCacheReadTokens() + u.GetCacheWriteTokens() + u.GetOutputTokens()
	if u.GetTotalTokens() != sum {
		p.add("usage.total is %d, the four buckets make %d (contract 2.6)", u.GetTotalTokens(), sum)
	}
}

// compareContent walks both lists of blocks. Empty blocks, and expected ones that
// are optional, may be missing.
func (r *recording) compareContent(p *problems, f *Folded) {
	var signatures strings.Builder
	var got []Block
	for _, b := range f.Blocks {
		if b.Kind != KindProviderContent {
			got = append(got, b)
			signatures.WriteString(spelledOut(b.Signature) + "\n")
		}
	}
	for n := range r.Content {
		w := &r.Content[n]
		skipped := got
		for len(skipped) > 0 && skipped[0].Kind != w.Type && skipped[0].empty() {
			skipped = skipped[1:]
		}
		if len(skipped) == 0 || skipped[0].Kind != w.Type {
			if w.Optional {
				continue
			}
			p.add("block %d, %s, is missing among %s", n, w.Type, kinds(f.Blocks))
			return
		}
		g := skipped[0]
		rest := skipped[1:]
		for w.Split && len(rest) > 0 && rest[0].Kind == w.Type && g.Text != w.text() && strings.HasPrefix(w.text(), g.Text+rest[0].Text) {
			g.Text += rest[0].Text
			g.Signature += rest[0].Signature
			rest = rest[1:]
		}
		if w.Optional && w.text() == "" && g.Text != "" {
			continue
		}
		got = rest
		w.compare(p, fmt.Sprintf("block %d", n), r.api, &g, signatures.String())
	}
	for _, b := range got {
		if !b.empty() {
			p.add("an extra %s block at the end: %q", b.Kind, b.Text)
		}
	}
}

func (w *wantBlock) text() string {
	if w.Type == KindThinking {
		return w.Thinking
	}
	return w.Text
}

func (b *Block) empty() bool {
	return b.Kind != KindToolCall && b.Text == "" && b.Signature == "" && !b.Redacted
}

func kinds(blocks []Block) string {
	var l []string
	for _, b := range blocks {
		l = append(l, b.Kind)
	}
	return strings.Join(l, ", ")
}

func (w *wantBlock) compare(p *problems, at, api string, g *Block, signatures string) {
	if w.Type == KindToolCall {
		w.compareCall(p, at, api, g)
	} else if g.Text != w.text() && !w.Redacted {
		p.add("%s: %s is %q, want %q", at, w.Type, g.Text, w.text())
	}
	if w.Redacted && !g.Redacted {
		p.add("%s is not marked redacted", at)
	}
	if w.Signature == nil {
		return
	}
	switch w.SigKind {
	case "opaque":
		if g.Signature != *w.Signature {
			p.add("%s: the signature is %q, want %q", at, g.Signature, *w.Signature)
		}
		return
	case "field_name": // a convention of another implementation
		return
	case "reasoning_details_json": // may stand on any block
	default:
		signatures = spelledOut(g.Signature)
	}
	for _, has := range w.SigHas {
		if !strings.Contains(signatures, has) {
			p.add("%s: the signature does not hold %q", at, has)
		}
	}
}

func (w *wantBlock) compareCall(p *problems, at, api string, g *Block) {
	if w.ID != nil {
		want := *w.ID
		if api == "openai-responses" {
			want, _, _ = strings.Cut(want, "|") // contract 2.15
		}
		if g.ID != want {
			p.add("%s: the id is %q, want %q", at, g.ID, want)
		}
	}
	if g.Name != w.Name {
		p.add("%s: the name is %q, want %q", at, g.Name, w.Name)
	}
	if w.Namespace != "" && g.Namespace != w.Namespace {
		p.add("%s: the namespace is %q, want %q", at, g.Namespace, w.Namespace)
	}
	// Text that is an object must come through as it is; else only its meaning can
	// be compared, and the assembler mends it.
	switch {
	case w.ArgsText != nil && isObject(*w.ArgsText):
		if g.Text != *w.ArgsText {
			p.add("%s: the arguments are %q, want %q", at, g.Text, *w.ArgsText)
		}
	case isObject(g.Text) && len(w.Arguments) > 0:
		if !sameJSON([]byte(g.Text), w.Arguments) {
			p.add("%s: the arguments are %s, want %s", at, g.Text, w.Arguments)
		}
	}
}

func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text))
}

func sameJSON(a, b []byte) bool {
	read := func(text []byte) (v any, err error) {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&v)
		return v, err
	}
	x, errX := read(a)
	y, errY := read(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// spelledOut is a signature with all JSON strings in it decoded.
func spelledOut(signature string) string {
	text := signature
	d := json.NewDecoder(strings.NewReader(signature))
	for {
		t, err := d.Token()
		if err != nil {
			return text
		}
		if s, ok := t.(string); ok {
			text += "\n" + s
		}
	}
}

// compareError compares an error with the kind that the recording names.
func (r *recording) compareError(e *adapters.UpstreamError) problems {
	var p problems
	if r.ProviderStop != nil && *r.ProviderStop == "guardrail_intervened" && e.Reason != adapters.ReasonContentFiltered {
		p.add("the reason is %s, want %s", e.Reason, adapters.ReasonContentFiltered)
	}
	text := strings.ToLower(e.Message + " " + e.Type)
	contains := r.ErrorContains
	if r.Error != nil {
		if want := r.reasons(); !slices.Contains(want, e.Reason) {
			p.add("the reason is %s, want one of %s (%s)", e.Reason, want, upstreamText(e))
		}
		if want := r.Error.Retryable; want != nil && e.Retryable() != *want {
			p.add("retryable is %t, want %t (%s)", e.Retryable(), *want, upstreamText(e))
		}
		contains = r.Error.Contains
	} else if r.ProviderStop != nil {
		text += " " + strings.ToLower(*r.ProviderStop)
	}
	// A message is cut at 1 KiB (contract 1.25).
	if !strings.Contains(text, strings.ToLower(contains)) && len(e.Message) < 1000 {
		p.add("the error does not carry %q: %s", contains, upstreamText(e))
	}
	return p
}

// reasons are the reasons that fit the kind; status and words decide where the
// kind is wider than contract 1.24.
func (r *recording) reasons() []string {
	e, status, words := r.Error, r.meta.Status, strings.ToLower(string(r.body))
	kinds := append([]string{e.Kind}, e.Accept...)
	switch {
	case status == 402, e.Kind == "rate_limit" && e.Retryable != nil && !*e.Retryable:
		kinds = []string{"quota"}
	case e.Kind == "auth":
		kinds = kinds[:1]
	case status == 413 && (strings.Contains(words, "context") || strings.Contains(words, "prompt is too long")):
		kinds = []string{"context_overflow"}
	case status == 413:
		kinds = []string{"too_large"}
	case status == 408 || status == 409:
		kinds = []string{"timeout"}
	}
	if slices.Contains(kinds, "invalid_request") && strings.Contains(words, "signature") {
		kinds = append(kinds, "signature")
	}
	if strings.Contains(words, "content_filter") || strings.Contains(words, "content violates") {
		kinds = append(kinds, "content_filter")
	}
	var all []string
	for _, k := range kinds {
		all = append(all, reasonsOf(k)...)
	}
	return all
}

// reasonsOf maps the recordings' kinds of errors to the reasons of contract
// section 3.
func reasonsOf(kind string) []string {
	switch kind {
	case "rate_limit":
		return []string{adapters.ReasonRateLimited}
	case "quota":
		return []string{adapters.ReasonQuotaExhausted}
	case "overloaded":
		return []string{adapters.ReasonOverloaded}
	case "server":
		return []string{adapters.ReasonProviderError, adapters.ReasonOverloaded}
	case "timeout":
		return []string{adapters.ReasonProviderError, adapters.ReasonTimeout}
	case "context_overflow":
		return []string{adapters.ReasonContextLengthExceeded}
	case "too_large":
		return []string{adapters.ReasonRequestTooLarge}
	case "auth":
		return []string{adapters.ReasonCredentialsInvalid}
	case "permission":
		return []string{adapters.ReasonPermissionDenied, adapters.ReasonPrecondition}
	case "invalid_request":
		return []string{adapters.ReasonRejectedRequest}
	case "signature":
		return []string{adapters.ReasonSignatureRejected}
	case "not_found":
		return []string{adapters.ReasonModelNotFound}
	case "refusal", "content_filter":
		return []string{adapters.ReasonContentFiltered, adapters.ReasonPromptBlocked}
	}
	return nil
}
