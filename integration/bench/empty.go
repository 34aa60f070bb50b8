package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"

	"google.golang.org/grpc"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// empty is what anybody would write first: lines, encoding/json into small structs,
// one message a delta. It keeps nothing and checks nothing.
type empty struct {
	llmdv1.UnimplementedInferenceServiceServer
	upstream *http.Transport
	mock     string
}

func runEmpty(l net.Listener, mockAddr string) error {
	return serveGRPC(l, &empty{upstream: upstreamClient(), mock: mockAddr})
}

type chatFrameJSON struct {
	Choices []struct {
		Delta struct {
			Content   string `json:"content"`
			ToolCalls []struct {
				Function struct {
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
}

type anthropicFrameJSON struct {
	Delta struct {
		Text        string `json:"text"`
		PartialJSON string `json:"partial_json"`
	} `json:"delta"`
}

// Stream implements llmd.v1.InferenceService.Stream.
func (e *empty) Stream(req *llmdv1.StreamRequest, stream grpc.ServerStreamingServer[llmdv1.StreamResponse]) error {
	sh, s, err := wanted(req)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(stream.Context(), http.MethodPost, "http://"+e.mock+sh.path(), strings.NewReader(sh.request(s)))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := e.upstream.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("empty: status %d", resp.StatusCode)
	}
	number := int32(0)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || data[0] != '{' {
			continue
		}
		piece, err := emptyDecode(sh, data)
		if err != nil {
			return err
		}
		if piece == "" {
			continue
		}
		if err := stream.Send(delta(s.kind, number, piece)); err != nil {
			return err
		}
		number++
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return stream.Send(done(number))
}

func emptyDecode(sh shape, data []byte) (string, error) {
	if sh == anthropic {
		var f anthropicFrameJSON
		err := json.Unmarshal(data, &f)
		return f.Delta.Text + f.Delta.PartialJSON, err
	}
	var f chatFrameJSON
	if err := json.Unmarshal(data, &f); err != nil || len(f.Choices) == 0 {
		return "", err
	}
	d := &f.Choices[0].Delta
	if len(d.ToolCalls) > 0 {
		return d.ToolCalls[0].Function.Arguments, nil
	}
	return d.Content, nil
}
