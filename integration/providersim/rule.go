package providersim

import (
	"fmt"
	"strconv"
)

// The wire APIs, by llmd's names.
const (
	Anthropic = "anthropic-messages"
	Chat      = "openai-completions"
	Responses = "openai-responses"
	Azure     = "azure-openai-responses"
	Gemini    = "google-generative-ai"
	Vertex    = "google-vertex"
	Bedrock   = "bedrock-converse-stream"
	Mistral   = "mistral-conversations"
)

// APIs lists the wire APIs that are played.
func APIs() []string {
	return []string{Anthropic, Chat, Responses, Azure, Gemini, Vertex, Bedrock, Mistral}
}

// Rule is one reason for which a provider refuses a request.
type Rule struct {
	// ID is stable: the API's short name, what it is about, and what must hold.
	ID string
	// Doc is the address of the documentation or report it comes from.
	Doc string
	// Signature: the rule verifies what this simulator issued. It means nothing for
	// requests of real conversations.
	Signature bool

	check func(*request, report)
}

// Violation is one breach of a rule.
type Violation struct {
	// Rule is the rule's id.
	Rule string
	// Path is the place in the body, such as "messages.3.content.0".
	Path string
	// Message is what the provider says, as near as it is known.
	Message string
}

// String is for failures of tests.
func (v Violation) String() string { return v.Rule + " at " + v.Path + ": " + v.Message }

// report notes a breach.
type report func(path, format string, args ...any)

// request is one request as the rules see it.
type request struct {
	api, model string
	raw        []byte
	body       *value
	view
}

// view is what the rules of all APIs look at: who said what, in order.
type view struct {
	messages []message
	calls    []call
	results  []result
}

// message is one message, content or run of items of one role.
type message struct {
	at    int // its place in the list
	path  string
	role  string
	value *value
	parts []part
	// plain: the content is a string instead of a list.
	plain bool
}

// part is one block of a message's content.
type part struct {
	msg, at int
	path    string
	role    string
	// kind is its type, or the name of its only member where that is the type.
	kind  string
	value *value
}

// call is a call of a tool, and result what it came to.
type call struct {
	msg      int
	path     string
	id, name *value
	args     *value
	// first: no other call stands before it in its message.
	first bool
}

type result struct {
	msg   int
	path  string
	id    *value
	value *value
}

// Check looks for breaches of every rule of an API, at most one of each, in the
// order of [Rules]. model is what names the model at the provider: some APIs have
// it in the path.
func Check(api, model string, body []byte) []Violation {
	return check(api, model, body, true)
}

// CheckStructure is Check without the rules about signatures.
func CheckStructure(api, model string, body []byte) []Violation {
	return check(api, model, body, false)
}

func check(api, model string, body []byte, signatures bool) []Violation {
	r, err := newRequest(api, model, body)
	if err != nil {
		return []Violation{{Rule: Rules(api)[0].ID, Message: err.Error()}}
	}
	var found []Violation
	for _, rule := range Rules(api) {
		if rule.Signature && !signatures {
			continue
		}
		var first *Violation
		rule.check(r, func(path, format string, args ...any) {
			if first == nil {
				first = &Violation{Rule: rule.ID, Path: path, Message: fmt.Sprintf(format, args...)}
			}
		})
		if first != nil {
			found = append(found, *first)
		}
	}
	return found
}

func newRequest(api, model string, body []byte) (*request, error) {
	v, err := parse(body)
	if err != nil {
		return nil, err
	}
	r := &request{api: api, model: model, raw: body, body: v}
	switch api {
	case Anthropic:
		r.view = anthropicView(v)
	case Chat, Mistral:
		r.view = chatView(v)
	case Responses, Azure:
		r.view = responsesView(v)
	case Gemini, Vertex:
		r.view = googleView(v)
	case Bedrock:
		r.view = bedrockView(v)
	}
	return r, nil
}

// Rules lists the rules of an API; empty for one that is not known. The first one
// is about the body as a whole.
func Rules(api string) []Rule {
	switch api {
	case Anthropic:
		return anthropicRules()
	case Chat:
		return chatRules()
	case Responses, Azure:
		return responsesRules()
	case Gemini, Vertex:
		return googleRules()
	case Bedrock:
		return bedrockRules()
	case Mistral:
		return mistralRules()
	}
	return nil
}

// at is a place in a list.
func at(path string, i int) string { return path + "." + strconv.Itoa(i) }
