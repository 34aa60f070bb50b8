package cases

import (
	"net/url"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/integration/harness"
)

// testRequest: what PrepareContext shows is what Stream sends, to the byte, and it
// is as the case demands.
func (c *testCase) testRequest(t *testing.T) {
	p := c.play(t)
	l := c.start(t, p.URL)
	g := c.generation(t)
	shown, err := l.PrepareContext(harness.Limited(t, 10*time.Second), &llmdv1.PrepareContextRequest{Generation: g})
	if c.conflicts(err) {
		return
	}
	if err != nil {
		t.Fatalf("PrepareContext: %v", err)
	}
	text := shown.GetRequest().GetBodyJson()
	c.checkBody(t, text)
	if u, err := url.Parse(shown.GetRequest().GetUrl()); err != nil || u.Host == "" || shown.GetRequest().GetMethod() != "POST" {
		t.Errorf("the request shown is %s %q", shown.GetRequest().GetMethod(), shown.GetRequest().GetUrl())
	}
	if len(shown.GetContext().GetMessages()) == 0 {
		t.Error("PrepareContext shows no messages")
	}
	if c.Target.BaseURL != "" {
		return // a real host, which is never called
	}
	o := harness.Run(harness.Limited(t, 10*time.Second), l, &llmdv1.StreamRequest{Generation: g}, nil)
	sent := p.requests()
	if len(sent) != 1 {
		t.Fatalf("Stream sent %d requests (%s)", len(sent), o.Words())
	}
	if sent[0] != text {
		t.Errorf("sent\n%s\nshown\n%s", sent[0], text)
		c.checkBody(t, sent[0])
	}
}

func (c *testCase) checkBody(t *testing.T, text string) {
	t.Helper()
	root, err := parse(text)
	if err != nil {
		t.Fatalf("the body is no JSON: %v", err)
	}
	if len(c.Expect.BodyMust) == 0 {
		t.Fatal("the case asserts nothing")
	}
	if d := (&requestBody{text, root}).unmet(c.Expect.BodyMust); d != "" {
		t.Errorf("%s\nin %s", d, text)
	}
}

// conflicts: to refuse a forced tool beside thinking is as good as to drop one of
// them (1.23), where the model cannot do both.
func (c *testCase) conflicts(err error) bool {
	if c.Options.Thinking == nil || c.Options.ToolChoice == "" || status.Code(err) != codes.InvalidArgument {
		return false
	}
	reason := harness.ReasonOf(err)
	return reason == "CAPABILITY_UNSUPPORTED" || reason == "INVALID_REQUEST"
}
