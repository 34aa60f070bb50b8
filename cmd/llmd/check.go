package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/config"
	"github.com/llmd-dev/llmd/internal/server"
	"github.com/llmd-dev/llmd/service/responses"
)

const apiFaux = "faux"

type checkCmd struct {
	Config string `help:"Configuration file (YAML); default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
	Live   bool   `help:"Also make one tiny call to the first model of each provider that is ready. Calls cost money."`
	JSON   bool   `help:"Print each provider, and each call, as a line of JSON." name:"json"`
}

// Help tells of the exit codes.
func (*checkCmd) Help() string {
	return "Exit code 0: llmd serve would start with this configuration. 2: the configuration or the environment is wrong, in the words of llmd serve. 1: a call of --live failed, or the shared store cannot be used."
}

// Run lists all providers, if the server would start. It fails if a live call does; a provider without
// credentials is no failure, since nobody has all of them.
func (c *checkCmd) Run(s *session) error {
	file, err := config.Load(c.Config, s.env)
	if err != nil {
		return err
	}
	models, err := server.Check(file, s.env)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printProvidersJSON(s.stdout, models)
	} else {
		err = printProviders(s.stdout, models, c.Live)
	}
	if err != nil {
		return err
	}
	if err := c.store(s, file); err != nil || !c.Live {
		return err
	}
	conn, closeAll, err := s.reachFile(file)
	if err != nil {
		return err
	}
	defer closeAll()
	l := liveCheck{session: s, client: llmdv1.NewInferenceServiceClient(conn), models: models, file: file, json: c.JSON}
	return l.run()
}

// lookAt says where the cause of a failure of Redis may be, by its word
// (docs/shared-responses.md).
func lookAt(cause string) string {
	switch cause {
	case "unreachable":
		return ": look at addresses, the network and tls"
	case "timeout":
		return ": look at the load of Redis, the way to it, and tls"
	case "refused":
		return ": look at username, password and what this user may do"
	case "full":
		return ": look at the maxmemory of Redis"
	case "failed":
		return ": look at the state of Redis, and at cluster"
	}
	return ""
}

// store says whether the store of shared responses can be used, if there is one.
func (c *checkCmd) store(s *session, file *config.File) error {
	what, err := server.CheckStore(context.Background(), file)
	if what == "" {
		return err
	}
	if mistake, ok := errors.AsType[*config.ParseError](err); ok {
		return mistake
	}
	problem := ""
	if err != nil {
		problem = err.Error()
		if failed, ok := errors.AsType[*responses.UnavailableError](err); ok {
			problem = failed.Kind
		}
	}
	if c.JSON {
		line, merr := json.Marshal(struct {
			Store     string `json:"responsesStore"`
			Reachable bool   `json:"reachable"`
			Problem   string `json:"problem,omitempty"`
		}{what, err == nil, problem})
		put(s.stdout, "%s\n", line)
		if merr != nil {
			return merr
		}
	} else {
		put(s.stdout, "\nshared responses: %s: %s%s\n", what, cmp.Or(problem, "can be used"), lookAt(problem))
	}
	if err != nil {
		return fmt.Errorf("the store of shared responses cannot be used: %s", problem)
	}
	return nil
}

func printProvidersJSON(out io.Writer, models *catalog.Catalog) error {
	for _, p := range models.Providers() {
		line, err := jsonLine(p.Message())
		if err != nil {
			return err
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

const noKeyNeeded = "no key needed"

func printProviders(out io.Writer, models *catalog.Catalog, live bool) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	put(t, "PROVIDER\tAPI\tMODELS\tREADY\tCREDENTIALS\tMISSING\n")
	others, keyless := false, false
	for _, p := range models.Providers() {
		count := strconv.Itoa(len(models.Models(p.ID)))
		if p.AllowUnlisted {
			count, others = count+"+", true
		}
		ready := readiness(p)
		keyless = keyless || ready == noKeyNeeded
		put(t, "%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, p.API, count, ready, p.CredentialsSource, cmp.Or(p.Missing, "-"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if others {
		put(out, "+: any other model id is accepted, too\n")
	}
	if keyless && !live {
		put(out, "%s: whether anything runs there only a call can tell: --live makes one\n", noKeyNeeded)
	}
	return nil
}

// readiness is what can be known without a call. Where no key is needed, that is
// nothing, but for the built-in provider, which is always there.
func readiness(p *catalog.Provider) string {
	switch {
	case !p.Configured:
		return "no"
	case p.API != apiFaux && p.CredentialsSource == catalog.NotNeeded:
		return noKeyNeeded
	}
	return "yes"
}
