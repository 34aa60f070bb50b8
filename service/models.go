package service

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/principal"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// Models implements llmd.v1.ModelService.
type Models struct {
	llmdv1.UnimplementedModelServiceServer
	catalog func() *catalog.Catalog
}

// ListModels implements llmd.v1.ModelService.ListModels. A page token is the name
// of the last model of the page before, so that a changed configuration cannot
// repeat or skip what is still there.
func (s *Models) ListModels(ctx context.Context, req *llmdv1.ListModelsRequest) (*llmdv1.ListModelsResponse, error) {
	c := &checker{}
	size := int(req.GetPageSize())
	if size < 0 || size > maxPage {
		c.add("page_size", reasonRange, "must be from 0 (for %d) to %d", defaultPage, maxPage)
	}
	if size == 0 {
		size = defaultPage
	}
	if req.GetFilter() != "" {
		c.add("filter", reasonInvalid, "is reserved and must be empty")
	}
	if p := req.GetProvider(); p != "" {
		if err := s.catalog().KnowsProvider(p); err != nil {
			return nil, toStatus(err)
		}
	}
	after, ok := afterToken(req)
	if !ok {
		c.add("page_token", reasonInvalid, "is not one that this service gave for this provider")
	}
	if err := c.err(); err != nil {
		return nil, toStatus(err)
	}
	var all []*llmdv1.Model
	caller := principal.From(ctx)
	for _, m := range s.catalog().Models(req.GetProvider()) {
		if caller.MayUse(m.Provider, m.ID) {
			all = append(all, catalog.ModelMessage(m))
		}
	}
	slices.SortFunc(all, func(a, b *llmdv1.Model) int { return strings.Compare(a.GetName(), b.GetName()) })
	from, found := slices.BinarySearchFunc(all, after, func(m *llmdv1.Model, name string) int {
		return strings.Compare(m.GetName(), name)
	})
	if found {
		from++
	}
	page := all[from:]
	resp := &llmdv1.ListModelsResponse{Models: page}
	if len(page) > size {
		resp.Models = page[:size]
		resp.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(page[size-1].GetName()))
	}
	return resp, nil
}

// afterToken is the name of the model that a page token stands for. The other parameters
// are to be those of the call that gave it: https://google.aip.dev/158.
func afterToken(req *llmdv1.ListModelsRequest) (name string, ok bool) {
	if req.GetPageToken() == "" {
		return "", true
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(req.GetPageToken())
	rest, named := strings.CutPrefix(string(text), "providers/")
	provider, _, found := strings.Cut(rest, "/models/")
	of := req.GetProvider()
	return string(text), err == nil && named && found && (of == "" || of == provider)
}

// GetModel implements llmd.v1.ModelService.GetModel.
func (s *Models) GetModel(ctx context.Context, req *llmdv1.GetModelRequest) (*llmdv1.GetModelResponse, error) {
	name := req.GetName()
	c := &checker{}
	c.model("name", name)
	if err := c.err(); err != nil {
		return nil, toStatus(err)
	}
	if rest, ok := strings.CutPrefix(name, "providers/"); ok {
		if provider, id, ok := strings.Cut(rest, "/models/"); ok {
			name = fmt.Sprintf("%s/%s", provider, id)
		}
	}
	m, err := resolve(ctx, s.catalog(), name)
	if err != nil {
		return nil, toStatus(err)
	}
	return &llmdv1.GetModelResponse{Model: catalog.ModelMessage(m)}, nil
}

// ListProviders implements llmd.v1.ModelService.ListProviders.
func (s *Models) ListProviders(ctx context.Context, _ *llmdv1.ListProvidersRequest) (*llmdv1.ListProvidersResponse, error) {
	resp := &llmdv1.ListProvidersResponse{}
	caller := principal.From(ctx)
	for _, p := range s.catalog().Providers() {
		if caller.MayReach(p.ID) {
			resp.Providers = append(resp.Providers, p.Message())
		}
	}
	return resp, nil
}
