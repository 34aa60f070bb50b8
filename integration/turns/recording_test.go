package turns

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recording is one recorded turn of a conversation.
type recording struct {
	folder, name string
	Provider     string            `json:"provider"`
	Model        string            `json:"model"`
	Kind         string            `json:"kind"`
	Status       int               `json:"status"`
	Headers      map[string]string `json:"headers"`
	Features     []string          `json:"features"`
	Fidelity     string            `json:"fidelity"`
	Recorded     bool              `json:"request_recorded"`
	Conversation struct {
		ID       string `json:"id"`
		Turn, Of int
	} `json:"conversation"`

	request  []byte // as the real client sent it
	response []byte
}

// conversation are the recorded turns of one, in order.
type conversation []*recording

// folders are those of ../shared/fixtures, with the wire API that llmd calls them
// by and what a base URL of it ends with.
func folders() []struct{ folder, api, base string } {
	return []struct{ folder, api, base string }{
		{"anthropic-messages", "anthropic-messages", ""},
		{"openai-completions", "openai-completions", "/v1"},
		{"openai-responses", "openai-responses", "/v1"},
		{"google-generative-ai", "google-generative-ai", ""},
		{"google-vertex", "google-vertex", ""},
		{"bedrock-converse-stream", "bedrock-converse-stream", ""},
		{"mistral", "mistral-conversations", "/v1"},
	}
}

// providerIDs are llmd's ids of providers that the recordings call otherwise.
func providerIDs() map[string]string {
	return map[string]string{
		"aws-bedrock": "amazon-bedrock", "azure-openai": "azure", "llama-cpp": "llamacpp", "vercel-gateway": "vercel-ai-gateway",
	}
}

// apiOf is the wire API of a conversation: Azure's Responses have one of their own.
func (c conversation) apiOf(folder string) string {
	if folder == "openai-responses" && c[0].Provider == "azure" {
		return "azure-openai-responses"
	}
	return folder
}

// shared is ../shared, beside the checkout.
func shared(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{"..", "..", "..", "shared"}, parts...)...)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("../shared is required in CI: %v", err)
		}
		t.Skip("../shared is absent: the recordings live beside the checkout")
	}
	return dir
}

// load reads the conversations of one folder.
func load(t testing.TB, folder string) []conversation {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shared(t, "fixtures", folder), "*", "meta.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings of %s: %v", folder, err)
	}
	by := map[string]conversation{}
	for _, file := range files {
		r := &recording{folder: folder, name: filepath.Base(filepath.Dir(file))}
		if err := json.Unmarshal(read(t, file), r); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if r.Conversation.ID == "" || !r.Recorded {
			continue
		}
		if id := providerIDs()[r.Provider]; id != "" {
			r.Provider = id
		}
		r.request = read(t, filepath.Join(filepath.Dir(file), "request.json"))
		r.response = read(t, filepath.Join(filepath.Dir(file), "response.raw"))
		by[r.Conversation.ID] = append(by[r.Conversation.ID], r)
	}
	var all []conversation
	for _, c := range by {
		slices.SortFunc(c, func(a, b *recording) int { return cmp.Compare(a.Conversation.Turn, b.Conversation.Turn) })
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b conversation) int { return strings.Compare(a[0].name, b[0].name) })
	return all
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// thinks: the model of these turns reasons, by what was seen of it.
func (c conversation) thinks() bool {
	return slices.ContainsFunc(c, func(r *recording) bool {
		return slices.Contains(r.Features, "thinking") || slices.Contains(r.Features, "redacted") || slices.Contains(r.Features, "signature")
	})
}
