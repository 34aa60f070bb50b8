package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"google.golang.org/grpc/status"

	"github.com/llmd-dev/llmd/adapters/profile"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/service"
)

const (
	// liveTokens is the least that every provider allows an answer to have.
	liveTokens = 16
	// livePatience is how long one provider may take.
	livePatience = 60 * time.Second
	// nobodysModel is asked for where no model is known: whoever refuses it is there.
	nobodysModel = "llmd-check"
)

// liveCheck calls the providers that are ready.
type liveCheck struct {
	*session
	client llmdv1.InferenceServiceClient
	models *catalog.Catalog
	file   *config.File
	json   bool
}

// liveResult is what came of one call.
type liveResult struct {
	// Model is the name of the model, or of a provider without known ones.
	Model      string `json:"model"`
	OK         bool   `json:"ok"`
	Result     string `json:"result"`
	DurationMs int64  `json:"durationMs"`
}

// run calls the first model of each ready provider; one that lists none is asked
// for a model that nobody has. A built-in provider that the file does not name,
// such as an engine that may run on this machine, need not be there.
func (l *liveCheck) run() error {
	if !l.json {
		put(l.stdout, "\n")
	}
	failed := false
	for _, p := range l.models.Providers() {
		listed := l.models.Models(p.ID)
		if !p.Configured || len(listed) == 0 && !p.AllowUnlisted {
			continue
		}
		began := time.Now()
		var r liveResult
		if len(listed) > 0 {
			r = l.call(l.first(p.ID, listed).Name())
		} else {
			r = l.ask(p)
		}
		if l.ctx.Err() != nil {
			return exitCodeError(exitInterrupted)
		}
		needed := len(listed) > 0 || slices.ContainsFunc(l.file.Providers, func(f config.Provider) bool { return f.ID == p.ID })
		failed = failed || !r.OK && needed
		r.DurationMs = time.Since(began).Milliseconds()
		if err := l.print(r); err != nil {
			return err
		}
	}
	if failed {
		return exitCodeError(exitError)
	}
	return nil
}

// first is the provider's first model: of those that the file describes, if there are any.
func (l *liveCheck) first(provider string, listed []*profile.Model) *profile.Model {
	for i := range l.file.Providers {
		if l.file.Providers[i].ID != provider {
			continue
		}
		for j := range l.file.Providers[i].Models {
			id := l.file.Providers[i].Models[j].ID
			if k := slices.IndexFunc(listed, func(m *profile.Model) bool { return m.ID == id }); k >= 0 {
				return listed[k]
			}
		}
	}
	return listed[0]
}

func (l *liveCheck) print(r liveResult) error {
	if l.json {
		return json.NewEncoder(l.stdout).Encode(r)
	}
	put(l.stdout, "%s: %s (%dms)\n", r.Model, r.Result, r.DurationMs)
	return nil
}

func (l *liveCheck) call(model string) liveResult {
	if err := callOnce(l.ctx, l.client, model); err != nil {
		return liveResult{Model: model, Result: describe(err)}
	}
	return liveResult{Model: model, OK: true, Result: "ok"}
}

// ask finds out whether a provider without known models is there.
func (l *liveCheck) ask(p *catalog.Provider) liveResult {
	r := liveResult{Model: p.ID}
	err := callOnce(l.ctx, l.client, p.ID+"/"+nobodysModel)
	var with interface{ GRPCStatus() *status.Status }
	if err == nil {
		r.OK, r.Result = true, "ok"
		return r
	}
	r.Result = describe(err)
	if !errors.As(err, &with) {
		return r
	}
	switch reason := reasonOf(with.GRPCStatus()); {
	case causeOf(with.GRPCStatus()) == service.CauseAddress:
	case reason == "MODEL_NOT_FOUND", reason == "PROVIDER_REJECTED_REQUEST":
		r.OK, r.Result = true, "answers; no model is known that could be called"
	}
	return r
}

func callOnce(ctx context.Context, client llmdv1.InferenceServiceClient, model string) error {
	ctx, cancel := context.WithTimeout(ctx, livePatience)
	defer cancel()
	_, err := client.Complete(ctx, &llmdv1.CompleteRequest{Generation: &llmdv1.Generation{
		Model:   model,
		Context: &llmdv1.Context{Messages: []*llmdv1.Message{userMessage(userText("Say hello."))}},
		Config:  &llmdv1.GenerationConfig{MaxOutputTokens: new(int32(liveTokens))},
	}})
	return err
}
