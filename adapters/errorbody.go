package adapters

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

const (
	maxBody  = 256 << 10 // an error body longer than this is read no further
	maxDepth = 6         // of errors within errors
	maxItems = 8         // of a list of errors
	maxPlain = 300       // bytes of a body that is a plain sentence
)

// ErrorFromBody finds the facts in the body of an error and classifies them. It
// knows the usual JSON shapes, also nested and as text within text; f holds what
// is known otherwise and wins, save that a status below 400 says nothing. Markup
// is never quoted; a body that is no JSON is only where it is one short sentence.
func ErrorFromBody(f ErrorFacts, body []byte) *UpstreamError {
	r := &bodyReader{facts: f}
	body = bytes.TrimPrefix(bytes.TrimSpace(body[:min(len(body), maxBody)]), []byte("\xef\xbb\xbf"))
	body = firstEvent(body)
	switch {
	case json.Valid(body):
		r.value(body, maxDepth)
	case len(body) <= maxPlain && !bytes.ContainsAny(body, "{}[]"):
		r.say(string(body))
	}
	r.facts.Message = strings.Join(r.said, ": ")
	e := Classify(r.facts)
	if r.base != "" {
		// Kept apart from Code, where the same numbers mean something else.
		e.Type = cmp.Or(e.Type, cut(r.base, maxWord))
		if e.Reason == ReasonProviderError || e.Reason == ReasonRejectedRequest {
			e.Reason = minimaxReason(r.base)
		}
	}
	if e.Reason == ReasonContextLengthExceeded {
		e.LimitTokens, e.RequestedTokens = cmp.Or(e.LimitTokens, r.limit), cmp.Or(e.RequestedTokens, r.used)
	}
	return e
}

// SaysError says whether a document that is nothing else is an error, in one of the
// shapes that [ErrorFromBody] knows.
func SaysError(body []byte) bool {
	var n errorNode
	if json.Unmarshal(body, &n) != nil {
		return false
	}
	return slices.ContainsFunc([]json.RawMessage{
		n.Error, n.Errors, n.Err, n.Fault, n.FaultString, n.Message, n.Msg, n.ErrorMessage, n.ErrorMsg, n.Detail, n.Title,
	}, jsonwire.Says)
}

// firstEvent unwraps an error that came as a server-sent event.
func firstEvent(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("data:")) && !bytes.HasPrefix(body, []byte("event:")) {
		return body
	}
	for line := range bytes.Lines(body) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			return bytes.TrimSpace(data)
		}
	}
	return body
}

// errorNode is any object that may say something about an error. Fields hold raw
// JSON because hosts disagree about their types; names match without case.
type errorNode struct {
	Error, Errors, Err, Response, Fault json.RawMessage
	InnerError                          json.RawMessage
	Message, Msg                        json.RawMessage
	ErrorMessage                        json.RawMessage `json:"error_message"`
	ErrorMsg                            json.RawMessage `json:"error_msg"`
	StatusMsg                           json.RawMessage `json:"status_msg"`
	FaultString, Reason                 json.RawMessage
	Detail, Details                     json.RawMessage
	Title, Description                  json.RawMessage
	Type, Code                          json.RawMessage
	AWSType                             json.RawMessage `json:"__type"`
	ErrorType                           json.RawMessage `json:"error_type"`
	ErrorCode                           json.RawMessage `json:"error_code"`
	Status, StatusCode                  json.RawMessage
	Status2                             json.RawMessage `json:"status_code"`
	RawStatus                           json.RawMessage `json:"raw_status_code"`
	Param                               json.RawMessage
	RequestID                           json.RawMessage
	RequestID2                          json.RawMessage `json:"request_id"`
	BaseResp                            json.RawMessage `json:"base_resp"`
	Metadata                            errorMetadata
	RetryAfter                          json.RawMessage
	RetryAfter2                         json.RawMessage `json:"retry_after"`
	RetryAfter3                         json.RawMessage `json:"retry_after_seconds"`
	EstimatedTime                       json.RawMessage `json:"estimated_time"`
	PromptTokens                        json.RawMessage `json:"n_prompt_tokens"`
	ContextSize                         json.RawMessage `json:"n_ctx"`
}

// errorMetadata is what an aggregator says about the provider behind it.
type errorMetadata struct{ Raw json.RawMessage }

// UnmarshalJSON accepts anything; only an object says something.
func (m *errorMetadata) UnmarshalJSON(data []byte) error {
	type plain errorMetadata
	var p plain
	if json.Unmarshal(data, &p) == nil {
		*m = errorMetadata(p)
	}
	return nil
}

// bodyReader gathers facts; the first of each kind wins.
type bodyReader struct {
	facts ErrorFacts
	said  []string // messages, outermost last unless an aggregator quotes another
	base  string   // MiniMax's base_resp.status_code
	quote bool     // reading what an aggregator quotes

	limit, used int64 // token numbers that stand in fields (llama.cpp)
}

func (r *bodyReader) value(raw json.RawMessage, depth int) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth == 0 {
		return
	}
	switch raw[0] {
	case '{':
		r.object(raw, depth)
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) == nil {
			for _, item := range items[:min(len(items), maxItems)] {
				r.value(item, depth-1)
			}
		}
	case '"':
		r.text(raw, depth)
	}
}

// text reads a string, which may itself be JSON.
func (r *bodyReader) text(raw json.RawMessage, depth int) {
	s := scalar(raw)
	if in := strings.TrimSpace(s); in != "" && (in[0] == '{' || in[0] == '[') && json.Valid([]byte(in)) {
		r.value([]byte(in), depth-1)
		return
	}
	r.say(s)
}

func (r *bodyReader) object(raw json.RawMessage, depth int) {
	var n errorNode
	if json.Unmarshal(raw, &n) != nil {
		return
	}
	// The innermost error says it best.
	for _, v := range []json.RawMessage{n.Error, n.Errors, n.Err, n.Fault, n.Response} {
		r.value(v, depth-1)
	}
	r.words(&n)
	for _, v := range []json.RawMessage{n.Message, n.Msg, n.ErrorMessage, n.ErrorMsg, n.StatusMsg, n.FaultString} {
		r.value(v, depth-1)
	}
	r.details(n.Detail, depth)
	r.details(n.Details, depth)
	if len(r.said) == 0 {
		for _, v := range []json.RawMessage{n.Description, n.Title} {
			r.value(v, depth-1)
		}
	}
	r.codeOf(n.InnerError)
	r.baseResp(n.BaseResp)
	if filled(n.Metadata.Raw) {
		was := r.quote
		r.quote = true
		r.value(n.Metadata.Raw, depth-1)
		r.quote = was
	}
}

// words takes the type, the code and the rest of what is no sentence. A type that
// only says that this is an error says nothing.
func (r *bodyReader) words(n *errorNode) {
	f := &r.facts
	kind := cmp.Or(scalar(n.AWSType), scalar(n.Type), scalar(n.ErrorType))
	if kind == "error" || strings.HasPrefix(kind, "response.") {
		kind = ""
	}
	// Google's status is a word, that of others a number.
	status := cmp.Or(scalar(n.RawStatus), scalar(n.Status2), scalar(n.StatusCode), scalar(n.Status))
	code := cmp.Or(scalar(n.Code), scalar(n.ErrorCode))
	for _, number := range []string{code, status} {
		if s := httpStatus(number); s != 0 && f.Status < firstError && !r.quote {
			f.Status = s
		}
	}
	if httpStatus(status) == 0 {
		kind = cmp.Or(kind, googleWord(status))
	}
	f.Type = cmp.Or(f.Type, kind)
	if httpStatus(code) == 0 || (!r.quote && code != "") {
		f.Code = cmp.Or(f.Code, code)
	}
	f.Param = cmp.Or(f.Param, scalar(n.Param))
	limit, _ := number(scalar(n.ContextSize))
	used, _ := number(scalar(n.PromptTokens))
	r.limit, r.used = cmp.Or(r.limit, limit), cmp.Or(r.used, used)
	f.RequestID = cmp.Or(f.RequestID, scalar(n.RequestID2), scalar(n.RequestID))
	for _, v := range []json.RawMessage{n.RetryAfter, n.RetryAfter2, n.RetryAfter3, n.EstimatedTime} {
		if f.RetryDelay == nil {
			f.RetryDelay = seconds(scalar(v))
		}
	}
}

// googleWord keeps a status that is one of google.rpc.Code's names.
func googleWord(status string) string {
	if status == "" || strings.ToUpper(status) != status || strings.ContainsAny(status, "0123456789 ") {
		return ""
	}
	return status
}

// codeOf takes the finer code of an error inside an error (Azure).
func (r *bodyReader) codeOf(raw json.RawMessage) {
	var n errorNode
	if !filled(raw) || json.Unmarshal(raw, &n) != nil {
		return
	}
	if code := scalar(n.Code); code != "" && codeReason(fold(r.facts.Code)) == "" {
		r.facts.Code = code
	}
}

// baseResp takes MiniMax's envelope.
func (r *bodyReader) baseResp(raw json.RawMessage) {
	var n errorNode
	if !filled(raw) || json.Unmarshal(raw, &n) != nil {
		return
	}
	if code := scalar(n.Status2); code != "0" {
		r.base = code
	}
	r.say(scalar(n.StatusMsg))
}

// details reads FastAPI's list of violations, Google's typed details, or text.
func (r *bodyReader) details(raw json.RawMessage, depth int) {
	raw = bytes.TrimSpace(raw)
	if !filled(raw) {
		return
	}
	var list []errorDetail
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		r.value(raw, depth-1)
		return
	}
	for _, d := range list[:min(len(list), maxItems)] {
		r.detail(&d)
	}
}

// errorDetail is an item of a list of details.
type errorDetail struct {
	AtType     string `json:"@type"`
	Reason     string
	RetryDelay string
	Violations []struct{ QuotaID, QuotaMetric, Subject string }
	Loc        []json.RawMessage
	Msg        string
}

// UnmarshalJSON accepts anything; fields of another type than usual are skipped.
func (d *errorDetail) UnmarshalJSON(data []byte) error {
	type plain errorDetail
	var p plain
	_ = json.Unmarshal(data, &p) // what fits is filled in
	*d = errorDetail(p)
	return nil
}

func (r *bodyReader) detail(d *errorDetail) {
	f := &r.facts
	if d.Msg != "" {
		var at []string
		for _, l := range d.Loc {
			at = append(at, scalar(l))
		}
		f.Param = cmp.Or(f.Param, strings.Join(at, "."))
		r.say(strings.TrimPrefix(strings.Join(at, ".")+": "+d.Msg, ": "))
	}
	if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait >= 0 && f.RetryDelay == nil {
		f.RetryDelay = &wait
	}
	// A reason says more than the status beside it; a daily quota more than both.
	if d.Reason != "" && (f.Code == "" || httpStatus(f.Code) != 0) {
		f.Code = d.Reason
	}
	for _, v := range d.Violations {
		if strings.Contains(fold(v.QuotaID), "perday") {
			f.Code = v.QuotaID
		}
	}
}

// say adds a message that says something new.
func (r *bodyReader) say(text string) {
	text = readable(text)
	if text == "" {
		return
	}
	for i, s := range r.said {
		if strings.Contains(s, text) {
			return
		}
		if strings.Contains(text, s) {
			r.said[i] = text
			return
		}
	}
	if len(r.said) < maxItems {
		r.said = append(r.said, text)
	}
}

// readable drops markup and what is no text.
func readable(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(cut(text, maxRead), ""))
	low := strings.ToLower(text)
	if markup(low) || containsAny(low, "<html", "<!doctype", "<head", "<body", "<script", "</") {
		return ""
	}
	return text
}

// markup: the text begins with a tag. "<400> InternalError.Algo..." is Alibaba's
// way to write a message: https://help.aliyun.com/zh/model-studio/error-code
func markup(text string) bool {
	rest, ok := strings.CutPrefix(text, "<")
	return ok && (rest == "" || rest[0] < '0' || rest[0] > '9')
}

// scalar is the text of a JSON string or number; empty for anything else.
func scalar(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	if raw[0] == '"' {
		var s string
		_ = json.Unmarshal(raw, &s) // it was valid as a whole
		return s
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return string(raw)
	}
	return ""
}

func filled(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && string(raw) != "null"
}
