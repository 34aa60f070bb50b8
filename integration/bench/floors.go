package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// keptConns is more than any measurement has at once: nobody may pay for new
// connections that another one keeps.
const keptConns = 1024

// upstreamClient is how the floors reach the mock.
func upstreamClient() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: keptConns, DisableCompression: true}
}

// runCopy is a reverse proxy that copies bytes as they come.
func runCopy(l net.Listener, mockAddr string) error {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: mockAddr})
	proxy.Transport = upstreamClient()
	proxy.FlushInterval = -1
	// The body is read first: net/http ends a request whose answer begins while its
	// body is still being read.
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}
	server := &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: time.Minute}
	return server.Serve(l)
}

// memory sends answers that are ready in memory, one message a delta.
type memory struct {
	llmdv1.UnimplementedInferenceServiceServer
}

func runMemory(l net.Listener) error { return serveGRPC(l, memory{}) }

func serveGRPC(l net.Listener, s llmdv1.InferenceServiceServer) error {
	server := grpc.NewServer()
	llmdv1.RegisterInferenceServiceServer(server, s)
	return server.Serve(l)
}

// Stream implements llmd.v1.InferenceService.Stream.
func (memory) Stream(req *llmdv1.StreamRequest, stream grpc.ServerStreamingServer[llmdv1.StreamResponse]) error {
	_, s, err := wanted(req)
	if err != nil {
		return err
	}
	number := int32(0)
	for i := range s.n {
		if err := stream.Send(delta(s.kind, number, word(i))); err != nil {
			return err
		}
		number++
	}
	return stream.Send(done(number))
}

// wanted is what a request's model asks for: "chat/..." or "anthropic/...".
func wanted(req *llmdv1.StreamRequest) (shape, scenario, error) {
	user := req.GetGeneration().GetContext().GetMessages()[0].GetUser()
	sh, model, ok := strings.Cut(req.GetGeneration().GetModel(), "/")
	if !ok {
		return "", scenario{}, fmt.Errorf("no shape: %q", model)
	}
	s, err := parseScenario(model)
	s.id = idIn(user.GetContent()[0].GetText().GetText())
	return shape(sh), s, err
}

func delta(kind string, number int32, piece string) *llmdv1.StreamResponse {
	if kind == "tool" {
		return &llmdv1.StreamResponse{SequenceNumber: number, Event: &llmdv1.StreamResponse_ToolCallDelta{ToolCallDelta: &llmdv1.ToolCallDeltaEvent{Delta: piece}}}
	}
	return &llmdv1.StreamResponse{SequenceNumber: number, Event: &llmdv1.StreamResponse_TextDelta{TextDelta: &llmdv1.TextDeltaEvent{Delta: piece}}}
}

func done(number int32) *llmdv1.StreamResponse {
	return &llmdv1.StreamResponse{SequenceNumber: number, Event: &llmdv1.StreamResponse_Done{Done: &llmdv1.DoneEvent{Message: &llmdv1.AssistantMessage{
		StopReason: llmdv1.StopReason_STOP_REASON_STOP,
	}}}}
}
