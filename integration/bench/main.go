package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// llmdBinary is an llmd that takes part. With several, a change can be compared with
// what was before.
type llmdBinary struct{ name, binary string }

// bench is one run.
type bench struct {
	out    io.Writer
	rounds int
	loads  string // part of the names of the workloads that run
	// part: one in so many of the usual number of requests.
	part int
	// telemetry: llmd serves metrics and exports traces; profiles: their address is told.
	telemetry, profiles bool

	llmds []llmdBinary
	mock  *process
	count atomic.Int64
}

// share is the part of n that is asked for, but not nothing.
func (b *bench) share(n int) int { return max(n/b.part, 1) }

// number is a number that this run has not used.
func (b *bench) number() int { return int(b.count.Add(1)) }

// measurement is one of the things that -only can name.
type measurement struct {
	name string
	run  func(*bench, context.Context) error
}

func measurements() []measurement {
	return []measurement{
		{"cpu", (*bench).measureCPU},
		{"delay", (*bench).measureDelay},
		{"peak", (*bench).measurePeak},
		{"idle", (*bench).measureIdle},
		{"images", (*bench).measureImages},
		{"history", (*bench).measureHistory},
		{"cancel", (*bench).measureCancel},
		{"start", (*bench).measureStart},
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var names []string
	for _, m := range measurements() {
		names = append(names, m.name)
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "one round")
	smoke := flags.Bool("smoke", false, "one round of very little: does the bench itself work?")
	telemetry := flags.Bool("telemetry", true, "llmd with metrics and traces")
	profiles := flags.Bool("profiles", false, "say where the profiles of each llmd are")
	loads := flags.String("load", "", "of the workloads of cpu only those with this in their name")
	rounds := flags.Int("rounds", 5, "rounds of each measurement")
	only := flags.String("only", "", "some of "+strings.Join(names, ",")+"; all if empty")
	binaries := flags.String("llmd", "", "binaries to measure, as name=path,...; built from this checkout if empty")
	role := flags.String("role", "", "what this process is; for the bench itself")
	mockAddr := flags.String("mock", "", "where the mock is; for the bench itself")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *role != "" {
		return serveRole(*role, *mockAddr)
	}
	b := &bench{out: out, rounds: *rounds, loads: *loads, part: 1, telemetry: *telemetry, profiles: *profiles}
	if *quick || *smoke {
		b.rounds = 1
	}
	if *smoke {
		b.part = 50
	}
	dir, err := os.MkdirTemp("", "llmd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if b.llmds, err = llmds(ctx, *binaries, dir); err != nil {
		return err
	}
	if b.mock, err = startRole(ctx, "mock", ""); err != nil {
		return err
	}
	defer b.mock.stop()
	fmt.Fprintf(out, "%s, %d processors, %d rounds, medians; load client and mock share the machine\n", runtime.Version(), runtime.NumCPU(), b.rounds)
	for _, m := range measurements() {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), m.name) {
			continue
		}
		if err := m.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// llmds are the binaries that take part.
func llmds(ctx context.Context, flag, dir string) ([]llmdBinary, error) {
	if flag == "" {
		binary, err := buildLLMD(ctx, dir)
		return []llmdBinary{{"llmd", binary}}, err
	}
	var all []llmdBinary
	for word := range strings.SplitSeq(flag, ",") {
		name, path, ok := strings.Cut(word, "=")
		if !ok {
			name, path = "llmd", word
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		all = append(all, llmdBinary{name, path})
	}
	return all, nil
}

// server is a running server and a client of it.
type server struct {
	*process
	client client
	// judged: it is an llmd, which the targets are for.
	judged bool
}

func (s *server) stop() {
	s.client.close()
	s.process.stop()
}

// skips: the server cannot play this part.
func (s *server) skips(sh shape, sc scenario) bool {
	// Messages from memory have no shape and no pace.
	return s.name == "memory" && (sh != chat || sc.kind != "text")
}

// names are all servers that take part, in the order of their turns.
func (b *bench) names() []string {
	names := []string{"copy", "memory", "empty"}
	for _, v := range b.llmds {
		names = append(names, v.name)
	}
	return names
}

// servers starts one of each.
func (b *bench) servers(ctx context.Context) (all []*server, stop func(), err error) {
	stop = func() {
		for _, s := range all {
			s.stop()
		}
	}
	for _, name := range b.names() {
		s, err := b.start(ctx, name, 1)
		if err != nil {
			stop()
			return nil, nil, err
		}
		all = append(all, s)
	}
	return all, stop, nil
}

// start starts a server by its name, with a client of so many connections.
func (b *bench) start(ctx context.Context, name string, conns int) (*server, error) {
	s := &server{}
	var err error
	if i := slices.IndexFunc(b.llmds, func(v llmdBinary) bool { return v.name == name }); i >= 0 {
		s.judged = true
		s.process, _, err = b.startLLMD(ctx, name, b.llmds[i].binary)
	} else {
		s.process, err = startRole(ctx, name, b.mock.addr)
	}
	if err != nil {
		return nil, err
	}
	if name == "copy" {
		s.client = newHTTPClient(s.addr)
		return s, nil
	}
	if s.client, err = newGRPCClient(s.addr, conns); err != nil {
		s.process.stop()
		return nil, err
	}
	return s, nil
}
