package soak

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// plan is how long and how much.
type plan struct {
	time    time.Duration
	streams int
	// reload and replace are how often.
	reload, replace time.Duration
}

func planned(t *testing.T) plan {
	t.Helper()
	p := plan{time: 4 * time.Second, streams: 16, reload: time.Second, replace: 1500 * time.Millisecond}
	if os.Getenv("LLMD_LONG") != "" {
		p = plan{time: 30 * time.Minute, streams: 64, reload: 20 * time.Second, replace: time.Minute}
	}
	var err error
	if s := os.Getenv("LLMD_SOAK_TIME"); s != "" {
		if p.time, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	if s := os.Getenv("LLMD_SOAK_STREAMS"); s != "" {
		if p.streams, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// soak is a run: one llmd that stays, one that is replaced again and again, and clients
// that use both.
type soak struct {
	t        *testing.T
	plan     plan
	program  string
	dir      string
	provider string

	stays    *process
	replaced atomic.Pointer[process]
	next     atomic.Uint64
	bytes    atomic.Int64

	mu       sync.Mutex
	ends     map[string]int
	reloads  int
	replaces int
	memory   []int // of the one that stays, in MiB, once a second
	files    []int
}

// TestSoak: every stream that began ends with exactly one terminal event, with the text
// that its seed says; memory and files stay flat.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	s := &soak{t: t, plan: planned(t), program: binary(t), provider: newProvider(t), ends: map[string]int{}}
	var err error
	if s.dir, err = os.MkdirTemp("", "soak"); err != nil { //nolint:usetesting // sockets have short paths
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if s.stays, err = start(t.Context(), s.program, s.dir, s.provider, 0); err != nil {
		t.Fatal(err)
	}
	other, err := start(t.Context(), s.program, s.dir, s.provider, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.replaced.Store(other)
	s.next.Store(uint64(time.Now().UnixNano()) / 1000)
	t.Logf("seeds from %d", s.next.Load())

	over, cancel := context.WithTimeout(t.Context(), s.plan.time)
	defer cancel()
	var wg sync.WaitGroup
	for i := range s.plan.streams {
		wg.Go(func() {
			for n := i; over.Err() == nil && !t.Failed(); n++ {
				s.stream(n)
			}
		})
	}
	wg.Go(func() { s.disturb(over) })
	wg.Go(func() { s.watch(over) })
	began := time.Now()
	wg.Wait()
	took := time.Since(began)
	for _, p := range []*process{s.stays, s.replaced.Load()} {
		s.finish(p)
	}
	s.report(took)
	s.flat()
}

func (s *soak) finish(p *process) {
	if err := p.end(); err != nil {
		s.t.Errorf("llmd ended with %v\n%s", err, p.log.String())
	}
	if n := strings.Count(p.log.String(), "panicked"); n > 0 {
		s.t.Errorf("%d panics\n%s", n, p.log.String())
	}
}

func (s *soak) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[what]++
}

// pick is the process that a stream uses.
func (s *soak) pick(n int) *process {
	if n%2 == 0 {
		return s.stays
	}
	return s.replaced.Load()
}

// stream asks once, and again at another process where that one ends.
func (s *soak) stream(n int) {
	seed := s.next.Add(1)
	a := answerOf(seed)
	req := &llmdv1.StreamRequest{
		RequestId:  fmt.Sprint("soak-", seed),
		Generation: harness.Ask("lab/m", fmt.Sprintf("seed=%d.", seed)),
	}
	req.Generation.Retry = &llmdv1.RetryPolicy{MaxRetries: 3, MaxDelay: durationpb.New(time.Second)}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cancelAt := -1
	if seed%23 == 0 {
		cancelAt = 1 + int(seed/23)%20
	}
	for attempt := 0; ; attempt++ {
		o := harness.Run(ctx, s.pick(n+attempt).client, req, func(o *harness.Outcome, _ *llmdv1.StreamResponse) {
			if len(o.Events) == cancelAt {
				cancel()
			}
		})
		if o.Started == nil && o.Status.Code() == codes.Unavailable && leaving(o) && attempt < 20 {
			s.count("tried elsewhere")
			time.Sleep(20 * time.Millisecond)
			continue
		}
		s.check(a, o, cancelAt >= 0)
		return
	}
}

// leaving: the process is ending, or has ended.
func leaving(o *harness.Outcome) bool {
	return o.Reason() == "SERVER_SHUTTING_DOWN" || o.Reason() == ""
}

func (s *soak) check(a answer, o *harness.Outcome, cancels bool) {
	bad := func(format string, args ...any) {
		s.t.Errorf("seed %d (%s at %d of %d): %s; it ended as %s, %v %s: %s", a.seed, a.fate, a.at, a.deltas, fmt.Sprintf(format, args...), o.Stop(), o.Status.Code(), o.Reason(), o.Words())
	}
	if cancels && o.Status.Code() == codes.Canceled {
		s.count("cancelled")
		return
	}
	for _, f := range o.Faults {
		bad("grammar: %s", f)
	}
	text := ""
	for _, c := range o.Message.GetContent() {
		text += c.GetText().GetText()
	}
	s.bytes.Add(int64(len(text)))
	broken := a.fate == cut || a.fate == reset || a.fate == failing
	switch {
	case o.Aborted != nil && o.Aborted.GetCause() == llmdv1.AbortCause_ABORT_CAUSE_SHUTDOWN:
		if !strings.HasPrefix(a.text(a.deltas), text) {
			bad("the partial text is %q", text)
		}
		s.count("aborted by a shutdown")
	case broken && o.Started == nil:
		if o.Status.Code() != codes.Unavailable || a.at > 0 && a.fate != reset {
			bad("a status alone")
		}
		s.count("failed before its start")
	case broken:
		// What the network had when the connection broke may be less than was sent.
		if o.Stop() != "ERROR" || !strings.HasPrefix(a.text(a.at), text) || a.fate != reset && text != a.text(a.at) {
			bad("the text is %q", text)
		}
		s.count("failed, partial kept")
	default:
		if o.Stop() != "STOP" || o.Status.Code() != codes.OK || text != a.text(a.deltas) {
			bad("the text is %d bytes", len(text))
		}
		s.count("whole")
	}
}

// disturb reloads and replaces.
func (s *soak) disturb(over context.Context) {
	reload, replace := time.NewTicker(s.plan.reload), time.NewTicker(s.plan.replace)
	defer reload.Stop()
	defer replace.Stop()
	for n := 2; ; n++ {
		select {
		case <-over.Done():
			return
		case <-reload.C:
			if err := writeConfig(s.stays.config, s.dir+"/s0", s.provider, n); err != nil {
				s.t.Error(err)
			}
			_ = s.stays.cmd.Process.Signal(syscall.SIGHUP)
			s.reloads++
		case <-replace.C:
			fresh, err := start(over, s.program, s.dir, s.provider, n)
			if err != nil {
				if over.Err() == nil {
					s.t.Error(err)
				}
				return
			}
			s.finish(s.replaced.Swap(fresh))
			s.replaces++
		}
	}
}

func (s *soak) watch(over context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-over.Done():
			return
		case <-tick.C:
			mib, files := s.stays.resident()
			s.memory, s.files = append(s.memory, mib), append(s.files, files)
		}
	}
}

func (s *soak) report(took time.Duration) {
	total := 0
	for _, n := range s.ends {
		total += n
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s.t.Logf("%d streams at a time for %v: %d in all, %.0f a second, %d MiB of text; %d reloads, %d processes replaced\n%v",
		s.plan.streams, took.Round(time.Second), total, float64(total)/took.Seconds(), s.bytes.Load()>>20, s.reloads, s.replaces, s.ends)
	for i := range 6 {
		if from, to := i*len(s.memory)/6, (i+1)*len(s.memory)/6; to > from {
			s.t.Logf("part %d of 6: at most %d MiB and %d files", i+1, slices.Max(s.memory[from:to]), slices.Max(s.files[from:to]))
		}
	}
}

// flat compares the end with what it was once the store of responses was full, which
// takes five minutes.
func (s *soak) flat() {
	full := 5 * 60
	if len(s.memory) < 3*full {
		return
	}
	early, late := slices.Max(s.memory[full:2*full]), slices.Max(s.memory[len(s.memory)-full:])
	if late > early*5/4+16 {
		s.t.Errorf("memory grew from %d to %d MiB", early, late)
	}
	early, late = slices.Max(s.files[full:2*full]), slices.Max(s.files[len(s.files)-full:])
	if late > early+s.plan.streams {
		s.t.Errorf("open files grew from %d to %d", early, late)
	}
}
