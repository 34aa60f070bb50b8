package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// arrived is called for each event, when it has come, with its piece of text or
// arguments; empty = it has none.
type arrived func(piece string)

// onText is an arrived that is not called for events without a piece.
func onText(got func()) arrived {
	return func(piece string) {
		if piece != "" {
			got()
		}
	}
}

// client asks one server. It is safe for concurrent use.
type client interface {
	// stream makes one request and reads the answer to its end.
	stream(ctx context.Context, sh shape, s scenario, got arrived) error
	close()
}

// httpClient speaks a provider's own API: to the mock itself, or through the proxy.
type httpClient struct {
	addr      string
	transport *http.Transport
}

func newHTTPClient(addr string) *httpClient {
	return &httpClient{addr: addr, transport: upstreamClient()}
}

func (c *httpClient) close() { c.transport.CloseIdleConnections() }

func (c *httpClient) stream(ctx context.Context, sh shape, s scenario, got arrived) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.addr+sh.path(), strings.NewReader(sh.request(s)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "data: {") {
			got(textIn(line))
		}
	}
	return lines.Err()
}

// grpcClient speaks llmd's contract.
type grpcClient struct {
	conns []*grpc.ClientConn
	next  atomic.Uint32
}

// newGRPCClient opens connections, among which the streams take turns.
func newGRPCClient(addr string, conns int) (*grpcClient, error) {
	c := &grpcClient{}
	for range conns {
		conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(16<<20), grpc.MaxCallSendMsgSize(64<<20)))
		if err != nil {
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	return c, nil
}

func (c *grpcClient) close() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

func (c *grpcClient) stream(ctx context.Context, sh shape, s scenario, got arrived) error {
	return c.send(ctx, request(sh, s), got)
}

func (c *grpcClient) send(ctx context.Context, req *llmdv1.StreamRequest, got arrived) error {
	conn := c.conns[int(c.next.Add(1))%len(c.conns)]
	events, err := llmdv1.NewInferenceServiceClient(conn).Stream(ctx, req)
	if err != nil {
		return err
	}
	done := false
	for {
		e, err := events.Recv()
		switch {
		case errors.Is(err, io.EOF) && done:
			return nil
		case errors.Is(err, io.EOF):
			return errors.New("the stream ended without done")
		case err != nil:
			return err
		}
		switch t := e.GetEvent().(type) {
		case *llmdv1.StreamResponse_TextDelta:
			got(t.TextDelta.GetDelta())
		case *llmdv1.StreamResponse_ToolCallDelta:
			got(t.ToolCallDelta.GetDelta())
		case *llmdv1.StreamResponse_Done:
			done = true
			got("")
		default:
			got("")
		}
	}
}

// request is a small request.
func request(sh shape, s scenario) *llmdv1.StreamRequest {
	return &llmdv1.StreamRequest{Generation: &llmdv1.Generation{Model: string(sh) + "/" + s.model(), Context: &llmdv1.Context{
		Messages: []*llmdv1.Message{{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: []*llmdv1.UserContent{
			{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: s.prompt()}}},
		}}}}},
	}}}
}

// load makes requests over some streams at once and checks that every byte came. It
// returns how long that took.
func load(ctx context.Context, c client, sh shape, s scenario, streams, requests int) (time.Duration, error) {
	var left atomic.Int64
	left.Store(int64(requests))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begun := time.Now()
	var all sync.WaitGroup
	for range streams {
		all.Go(func() {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				if err := whole(ctx, c, sh, s); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(begun), context.Cause(ctx)
}

// whole makes one request; less text than was sent is an error.
func whole(ctx context.Context, c client, sh shape, s scenario) error {
	bytes := 0
	if err := c.stream(ctx, sh, s, func(piece string) { bytes += len(piece) }); err != nil {
		return err
	}
	if want := s.bytes(); bytes != want {
		return fmt.Errorf("%s: %d bytes came, %d were sent", s.model(), bytes, want)
	}
	return nil
}
