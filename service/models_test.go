package service

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

// shelf has n models at one provider, and what is built in.
func shelf(t *testing.T, n int) *Models {
	t.Helper()
	var b strings.Builder
	b.WriteString("providers:\n  - id: lab\n    api: openai-completions\n    base_url: http://127.0.0.1:1\n    api_key: none\n    models:\n")
	for i := range n {
		fmt.Fprintf(&b, "      - {id: m%03d}\n", i)
	}
	env := func(string) (string, bool) { return "", false }
	file, err := config.Parse("test.yaml", []byte(b.String()), env)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Load(file, env)
	if err != nil {
		t.Fatal(err)
	}
	return &Models{catalog: func() *catalog.Catalog { return c }}
}

func names(ms []*llmdv1.Model) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.GetName())
	}
	return out
}

func TestPages(t *testing.T) {
	s := shelf(t, 25)
	for _, size := range []int32{1, 7, 24, 25, 26, 1000} {
		var all []string
		token, pages := "", 0
		for {
			resp, err := s.ListModels(t.Context(), &llmdv1.ListModelsRequest{Provider: "lab", PageSize: size, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			if n := len(resp.GetModels()); n > int(size) || n == 0 {
				t.Fatalf("a page of %d, asked for %d", n, size)
			}
			pages++
			all = append(all, names(resp.GetModels())...)
			if token = resp.GetNextPageToken(); token == "" {
				break
			}
		}
		if len(all) != 25 || !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != 25 {
			t.Errorf("pages of %d: %v", size, all)
		}
		if want := (25 + int(size) - 1) / int(size); pages != want {
			t.Errorf("pages of %d: %d, want %d", size, pages, want)
		}
	}
	if resp, err := shelf(t, 150).ListModels(t.Context(), &llmdv1.ListModelsRequest{Provider: "lab"}); err != nil || len(resp.GetModels()) != 100 || resp.GetNextPageToken() == "" {
		t.Errorf("by default %d models, %v", len(resp.GetModels()), err)
	}
}

// A page begins behind the last name of the one before, though that model is gone.
func TestPageAfterAChange(t *testing.T) {
	s := shelf(t, 10)
	token := base64.RawURLEncoding.EncodeToString([]byte("providers/lab/models/m004x"))
	resp, err := s.ListModels(t.Context(), &llmdv1.ListModelsRequest{Provider: "lab", PageToken: token})
	if err != nil || len(resp.GetModels()) != 5 || resp.GetModels()[0].GetId() != "m005" {
		t.Errorf("%v, %v", names(resp.GetModels()), err)
	}
}

func TestListErrors(t *testing.T) {
	s := shelf(t, 1)
	token := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	for _, c := range []struct {
		field string
		req   *llmdv1.ListModelsRequest
	}{
		{"page_size", &llmdv1.ListModelsRequest{PageSize: -1}},
		{"page_token", &llmdv1.ListModelsRequest{PageToken: "not base64!"}},
		{"page_token", &llmdv1.ListModelsRequest{PageToken: "abcd"}},
		{"page_token", &llmdv1.ListModelsRequest{PageToken: token("lab/m000")}},
		{"page_token", &llmdv1.ListModelsRequest{PageToken: token("providers/other/models/m"), Provider: "lab"}},
		{"filter", &llmdv1.ListModelsRequest{Filter: "x"}},
	} {
		field, req := c.field, c.req
		_, err := s.ListModels(t.Context(), req)
		if status.Code(err) != codes.InvalidArgument || details[*errdetails.BadRequest](err)[0].GetFieldViolations()[0].GetField() != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := s.ListModels(t.Context(), &llmdv1.ListModelsRequest{Provider: "antropic"})
	if info := details[*errdetails.ErrorInfo](err); status.Code(err) != codes.NotFound || info[0].GetReason() != "PROVIDER_NOT_FOUND" || info[0].GetMetadata()["suggestions"] != "anthropic" {
		t.Errorf("an unknown provider: %v", err)
	}
	if _, err := s.ListModels(t.Context(), &llmdv1.ListModelsRequest{PageSize: 1001}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("1001: %v", err)
	}
}

func TestGetModel(t *testing.T) {
	s := shelf(t, 2)
	for _, name := range []string{"lab/m001", "providers/lab/models/m001"} {
		resp, err := s.GetModel(t.Context(), &llmdv1.GetModelRequest{Name: name})
		if err != nil || resp.GetModel().GetName() != "providers/lab/models/m001" || resp.GetModel().GetProvider() != "lab" {
			t.Errorf("%s: %v, %v", name, resp, err)
		}
	}
	for name, want := range map[string]string{"": "InvalidArgument INVALID_REQUEST", "lab/none": "NotFound MODEL_NOT_FOUND", "none/m": "NotFound PROVIDER_NOT_FOUND"} {
		_, err := s.GetModel(t.Context(), &llmdv1.GetModelRequest{Name: name})
		if got := status.Code(err).String() + " " + reasonIn(err); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
