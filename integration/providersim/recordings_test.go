package providersim

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shared is ../shared, beside the checkout.
func shared(t *testing.T, parts ...string) string {
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

// recording is a request that a real provider was sent, and what it said.
type recording struct {
	name, api string

	Model     string `json:"model"`
	Provider  string `json:"provider"`
	Status    int    `json:"status"`
	Recorded  bool   `json:"request_recorded"`
	Truncated bool   `json:"request_truncated"`

	request, response []byte
}

func recordings(t *testing.T) []recording {
	t.Helper()
	folders := map[string]string{"mistral": Mistral}
	for _, api := range APIs() {
		folders[api] = api
	}
	var all []recording
	files, err := filepath.Glob(filepath.Join(shared(t, "fixtures"), "*", "*", "meta.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	slices.Sort(files)
	for _, f := range files {
		dir := filepath.Dir(f)
		r := recording{name: filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)), api: folders[filepath.Base(filepath.Dir(dir))]}
		text, err := os.ReadFile(f)
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.request, err = os.ReadFile(filepath.Join(dir, "request.json")); err != nil {
			t.Fatal(err)
		}
		if r.response, err = os.ReadFile(filepath.Join(dir, "response.raw")); err != nil {
			t.Fatal(err)
		}
		if r.api != "" && r.Recorded && !r.Truncated && strings.TrimSpace(string(r.request)) != "null" {
			all = append(all, r)
		}
	}
	return all
}

// What a real provider took breaks no rule.
func TestAcceptedRequestsPass(t *testing.T) {
	tolerated := toleratedRequests()
	for _, r := range recordings(t) {
		if r.Status != http.StatusOK {
			continue
		}
		for _, v := range CheckStructure(r.api, r.Model, r.request) {
			if why := tolerated[r.name+" "+v.Rule]; why != "" {
				t.Logf("%s: %s (%s)", r.name, v, why)
				continue
			}
			t.Errorf("%s (%s %s): %s", r.name, r.Provider, r.Model, v)
		}
	}
}

// What a real provider refused for its structure breaks a rule.
func TestRefusedRequestsFail(t *testing.T) {
	structural := 0
	for _, r := range recordings(t) {
		if r.Status != http.StatusBadRequest || otherCause(string(r.response)) {
			continue
		}
		structural++
		if found := CheckStructure(r.api, r.Model, r.request); len(found) == 0 {
			t.Errorf("%s (%s %s) passes, and was refused: %s", r.name, r.Provider, r.Model, r.response)
		}
	}
	if structural == 0 {
		t.Error("no structural rejection was seen")
	}
	t.Logf("%d structural rejections", structural)
}

// otherCause says whether a request was refused for something else than its
// structure: its size, the key, the model, what a URL leads to.
func otherCause(words string) bool {
	for _, w := range []string{
		"context length", "Input Tokens Exceeded", "prompt too long", "prompt is too long", "messages is too long", "too_many_prompt_tokens",
		"API key", "api_key", "decommissioned", "model_not_found", "does not exist", "not found for API version", "while downloading",
	} {
		if strings.Contains(words, w) {
			return true
		}
	}
	return false
}

// toleratedRequests are the accepted requests that break a rule all the same, with
// the reason why the rule stands.
func toleratedRequests() map[string]string {
	return map[string]string{}
}
