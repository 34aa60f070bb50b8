package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// Contract 2.11: five per cent of the time, at least 200 ms, at most 2 s; nothing if
// there is less than a second; the caller's own margin wins.
func TestSoftDeadline(t *testing.T) {
	const ms = time.Millisecond
	margin := func(d time.Duration) *llmdv1.StreamOptions {
		return &llmdv1.StreamOptions{DeadlineMargin: durationpb.New(d)}
	}
	for _, c := range []struct {
		left time.Duration
		o    *llmdv1.StreamOptions
		want time.Duration // before the deadline; -1 = never
	}{
		{left: 999 * ms, want: -1},
		{left: 1000 * ms, want: 200 * ms},
		{left: 3999 * ms, want: 200 * ms},
		{left: 4000 * ms, want: 200 * ms},
		{left: 10_000 * ms, want: 500 * ms},
		{left: 40_000 * ms, want: 2000 * ms},
		{left: time.Hour, want: 2000 * ms},
		{left: 500 * ms, o: margin(100 * ms), want: 100 * ms},
		{left: 10_000 * ms, o: margin(0), want: 0},
		{left: 10_000 * ms, o: margin(3000 * ms), want: 3000 * ms},
		{left: 1000 * ms, o: margin(3000 * ms), want: 3000 * ms}, // at once
		{left: 10_000 * ms, o: &llmdv1.StreamOptions{}, want: 500 * ms},
		// A call has an hour (contract section 4).
		{left: 3 * time.Hour, want: 2*time.Hour + 2000*ms},
		{left: 3 * time.Hour, o: margin(5000 * ms), want: 2*time.Hour + 5000*ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.left)
			defer cancel()
			got := softDeadline(ctx, c.o)
			if c.want < 0 {
				if !got.IsZero() {
					t.Errorf("%v left: %v", c.left, time.Until(got))
				}
				return
			}
			if d := time.Now().Add(c.left).Sub(got); d != c.want {
				t.Errorf("%v left, %v: %v before the end, want %v", c.left, c.o, d, c.want)
			}
		})
	}
	for _, c := range []struct{ margin, want time.Duration }{{0, time.Hour}, {time.Minute, 59 * time.Minute}, {2 * time.Hour, time.Hour - 2*time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			if d := time.Until(softDeadline(t.Context(), margin(c.margin))); d != c.want {
				t.Errorf("without a deadline, %v before it: in %v, want %v", c.margin, d, c.want)
			}
		})
	}
}

// A call that is over is not llmd's fault.
func TestGone(t *testing.T) {
	for _, c := range []struct {
		err  error
		want codes.Code
	}{
		{nil, codes.OK},
		{status.Error(codes.Canceled, "x"), codes.Canceled},
		{status.Error(codes.Unavailable, "transport is closing"), codes.Canceled},
		{status.Error(codes.DeadlineExceeded, "x"), codes.DeadlineExceeded},
		{status.Error(codes.Internal, "cannot marshal"), codes.Internal},
		{errors.New("x"), codes.Internal},
	} {
		if got := status.Code(toStatus(gone(c.err))); got != c.want {
			t.Errorf("%v becomes %v, want %v", c.err, got, c.want)
		}
	}
}

// A request is told from another with the same id by all of it.
func TestDigest(t *testing.T) {
	req := func() *llmdv1.StreamRequest {
		return &llmdv1.StreamRequest{RequestId: "a", Generation: &llmdv1.Generation{
			Model: "m", Labels: map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}, ProviderOptionsJson: map[string]string{"x": "{}", "y": "{}"},
		}}
	}
	want := digest(req())
	for range 50 {
		if digest(req()) != want {
			t.Fatal("equal requests have different digests")
		}
	}
	for name, change := range map[string]func(*llmdv1.StreamRequest){
		"model":   func(r *llmdv1.StreamRequest) { r.Generation.Model = "n" },
		"label":   func(r *llmdv1.StreamRequest) { r.Generation.Labels["a"] = "2" },
		"options": func(r *llmdv1.StreamRequest) { r.Options = &llmdv1.StreamOptions{PartialArguments: true} },
	} {
		r := req()
		change(r)
		if digest(r) == want {
			t.Errorf("another %s has the same digest", name)
		}
	}
	if digest(&llmdv1.StreamRequest{}) != [32]byte{} {
		t.Error("a request without id has a digest")
	}
}

// Ids begin with the instance that made them.
func TestWhoseResponse(t *testing.T) {
	s := &Inference{options: Options{Instance: "host-1.zone"}, store: responses.New(true)}
	for id, want := range map[string]string{
		"host-1.zone.ABC": "", "host-2.zone.ABC": "host-2.zone", "other.ABC": "other", "nonsense": "", "": "", ".ABC": "",
	} {
		got := ""
		if elsewhere, ok := errors.AsType[*WrongInstanceError](s.unknown(responses.ErrNotFound, responses.Key{ResponseID: id})); ok {
			got = elsewhere.Instance
		}
		if got != want {
			t.Errorf("%q belongs to %q, want %q", id, got, want)
		}
	}
}

// While the server drains no new work is taken, and what runs can still be looked
// at and aborted.
func TestClosing(t *testing.T) {
	s := newService(t)
	s.Close()
	_, err := s.Complete(t.Context(), &llmdv1.CompleteRequest{Generation: asks("faux/faux")})
	if status.Code(err) != codes.Unavailable || !strings.Contains(shown(&ShuttingDownError{}), "SERVER_SHUTTING_DOWN") {
		t.Errorf("%v", err)
	}
	_, err = s.GetResponse(t.Context(), &llmdv1.GetResponseRequest{Target: &llmdv1.GetResponseRequest_RequestId{RequestId: "x"}})
	if status.Code(err) != codes.NotFound {
		t.Errorf("GetResponse: %v", err)
	}
}

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{"plain id-1": "plain id-1", "é": "", "a\nb": "", "": "", "a\x7f": ""} {
		if got := ascii(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}
