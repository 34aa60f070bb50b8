package service

import (
	"context"
	"errors"

	"github.com/llmd-dev/llmd/adapters/profile"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/principal"
)

// resolve finds a model that the caller may use. What decides is the model that is
// found: neither an alias nor another spelling leads around the caller's lists.
func resolve(ctx context.Context, c *catalog.Catalog, name string) (*profile.Model, error) {
	caller := principal.From(ctx)
	m, _, err := c.Resolve(name)
	if err != nil {
		return nil, withoutHints(caller, err)
	}
	if !caller.MayUse(m.Provider, m.ID) {
		return nil, &NotAllowedError{}
	}
	return m, nil
}

// withoutHints takes out what may have been meant: it may be what a restricted
// caller is not to know of.
func withoutHints(caller *principal.Principal, err error) error {
	if !caller.Restricted() {
		return err
	}
	if e, ok := errors.AsType[*catalog.UnknownModelError](err); ok {
		return &catalog.UnknownModelError{Name: e.Name, Provider: e.Provider}
	}
	if e, ok := errors.AsType[*catalog.UnknownProviderError](err); ok {
		return &catalog.UnknownProviderError{Name: e.Name, Provider: e.Provider}
	}
	return err
}
