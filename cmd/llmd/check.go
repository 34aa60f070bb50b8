package main

import (
	"cmp"
	"context"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
)

const (
	// liveTokens is the least that every provider allows an answer to have.
	liveTokens = 16
	// livePatience is how long one provider may take.
	livePatience = 60 * time.Second
)

type checkCmd struct {
	Config string `help:"Configuration file (YAML); default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
	Live   bool   `help:"Also make one tiny call to the first model of each configured provider. Calls cost money."`
}

// Run lists all providers. It fails if a live call does; a provider without
// credentials is no failure, since nobody has all of them.
func (c *checkCmd) Run(s *session) error {
	file, err := config.Load(c.Config, s.env)
	if err != nil {
		return err
	}
	models, err := catalog.Load(file, s.env)
	if err != nil {
		return err
	}
	if err := printProviders(s.stdout, models); err != nil || !c.Live {
		return err
	}
	conn, closeAll, err := s.reachFile(file)
	if err != nil {
		return err
	}
	defer closeAll()
	put(s.stdout, "\n")
	return callEach(s, llmdv1.NewInferenceServiceClient(conn), models)
}

func printProviders(out io.Writer, models *catalog.Catalog) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	put(t, "PROVIDER\tAPI\tMODELS\tREADY\tCREDENTIALS\tMISSING\n")
	for _, p := range models.Providers() {
		ready := "no"
		if p.Configured {
			ready = "yes"
		}
		count := strconv.Itoa(len(models.Models(p.ID)))
		if p.AllowUnlisted {
			count += "+" // and any other id
		}
		put(t, "%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, p.API, count, ready, p.CredentialsSource, cmp.Or(p.Missing, "-"))
	}
	return t.Flush()
}

// callEach calls the first model of each configured provider that lists any.
func callEach(s *session, client llmdv1.InferenceServiceClient, models *catalog.Catalog) error {
	failed := 0
	for _, p := range models.Providers() {
		listed := models.Models(p.ID)
		if !p.Configured || len(listed) == 0 {
			continue
		}
		began := time.Now()
		err := callOnce(s.ctx, client, listed[0].Name())
		if s.ctx.Err() != nil {
			return exitCodeError(exitInterrupted)
		}
		result := "ok"
		if err != nil {
			result, failed = describe(err), failed+1
		}
		put(s.stdout, "%s: %s (%s)\n", listed[0].Name(), result, time.Since(began).Round(time.Millisecond))
	}
	if failed > 0 {
		return exitCodeError(exitError)
	}
	return nil
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
