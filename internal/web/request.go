package web

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/vanguard"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	// bodyTimeout is how long a client may take to send a request. 64 MiB in that
	// time are 4.5 megabit a second.
	bodyTimeout = 2 * time.Minute
	// frameHeader is what Connect and gRPC-Web put before a message: a byte of flags
	// and the length.
	frameHeader = 5
	// mostParts is how many objects and elements a request in JSON may have, which is what
	// the gRPC server takes of messages and texts. They are made here, and before anybody
	// knows who calls: one of two bytes takes a hundred in memory.
	mostParts = 1 << 20
)

// mediaTypes are what a request may be.
const mediaTypes = "application/json, application/proto, application/connect+json, application/connect+proto, " +
	"application/grpc-web+json or application/grpc-web+proto"

// contentType spells a media type as the transcoder knows it: without parameters, as
// the charset, which can only be UTF-8.
func contentType(r *http.Request) (string, bool) {
	all := r.Header["Content-Type"]
	if len(all) != 1 {
		return "", false
	}
	media, params, err := mime.ParseMediaType(all[0])
	if err != nil || params["charset"] != "" && !strings.EqualFold(params["charset"], "utf-8") {
		return "", false
	}
	switch media {
	case "application/json", "application/proto", "application/connect+json", "application/connect+proto",
		"application/grpc-web", "application/grpc-web+json", "application/grpc-web+proto":
		return media, true
	}
	return "", false
}

// isGRPC: it is gRPC itself, which needs no transcoding.
func isGRPC(r *http.Request) bool {
	media := r.Header.Get("Content-Type")
	return media == "application/grpc" || strings.HasPrefix(media, "application/grpc+") || strings.HasPrefix(media, "application/grpc;")
}

// framed: the message has a frame around it.
func framed(media string) bool {
	return strings.HasPrefix(media, "application/connect+") || strings.HasPrefix(media, "application/grpc-web")
}

// prepare reads the request and makes it one that the transcoder understands.
func (s *Server) prepare(w http.ResponseWriter, r *http.Request, media string) *connect.Error {
	for _, name := range []string{"Content-Encoding", "Connect-Content-Encoding", "Grpc-Encoding"} {
		if c := r.Header.Get(name); c != "" && c != "identity" {
			return refusal(connect.CodeUnimplemented, "", "compressed requests are not accepted")
		}
		r.Header.Del(name)
	}
	if streams, known := s.streams[r.URL.Path]; known && streams && media == "application/json" {
		return badRequest("this method answers with a stream: send application/connect+json, or application/grpc-web+proto; Complete answers at once")
	}
	if err := timeLimit(media, r.Header); err != nil {
		return err
	}
	var body []byte
	if s.knows(r) {
		var err *connect.Error
		if body, err = s.read(w, r); err != nil {
			return err
		}
	} else {
		body = nothing(media)
		unread(w, r)
	}
	switch {
	case framed(media):
		if err := oneFrame(body); err != nil {
			return err
		}
	case len(body) == 0 && media == "application/json":
		return badRequest("the body is empty; an empty message is {}")
	}
	r.Header.Set("Content-Type", media)
	if !framed(media) {
		// Clients that are no library of Connect, such as curl, do not send it.
		r.Header.Set("Connect-Protocol-Version", "1")
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.TransferEncoding = nil
	return nil
}

// knows says whether who calls is known. The gRPC server refuses who is not, and needs no
// request for that.
func (s *Server) knows(r *http.Request) bool {
	of, _ := r.Context().Value(linkKey{}).(*link)
	return s.known == nil || of == nil || s.known(of.outer, r.URL.Path, r.Header)
}

// nothing is an empty message.
func nothing(media string) []byte {
	text := ""
	if strings.HasSuffix(media, "json") {
		text = "{}"
	}
	if framed(media) {
		text = string(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text)))) + text
	}
	return []byte(text)
}

// timeLimit refuses what is no time limit of the client's protocol, and one of zero:
// the transcoder would do it in words and details of its own.
func timeLimit(media string, h http.Header) *connect.Error {
	// https://connectrpc.com/docs/protocol#unary-request
	name, digits, units, rule := "Connect-Timeout-Ms", 10, "", "a number of milliseconds, of at most 10 digits"
	if strings.HasPrefix(media, "application/grpc-web") {
		// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#requests
		name, digits, units, rule = "Grpc-Timeout", 8, "HMSmun", "a number of at most 8 digits and one of the units H, M, S, m, u, n"
	}
	limit := h.Get(name)
	if limit == "" {
		return nil
	}
	number := strings.TrimRight(limit, units)
	switch {
	case number == "", len(number) > digits, len(limit)-len(number) != min(len(units), 1), strings.Trim(number, "0123456789") != "":
		return badRequest(name + " must be " + rule)
	case strings.Trim(number, "0") == "":
		return refusal(connect.CodeDeadlineExceeded, "DEADLINE_EXCEEDED", "the caller's deadline has passed")
	}
	return nil
}

// read reads the whole body. Memory grows with what has come, not with what was
// announced.
func (s *Server) read(w http.ResponseWriter, r *http.Request) ([]byte, *connect.Error) {
	limit := int64(s.maxReceive) + frameHeader
	if r.ContentLength > limit {
		return nil, tooLarge()
	}
	var body bytes.Buffer
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		readUntil(w, time.Time{}) // from now on reading only tells that the client is gone
		return body.Bytes(), nil
	case errors.As(err, &large):
		return nil, tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		unread(w, r)
		return nil, refusal(connect.CodeDeadlineExceeded, "", "the request took too long to arrive")
	}
	return nil, badRequest("the request is not complete")
}

// unread has the connection closed with the answer: net/http would wait for the rest of the
// request first.
func unread(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// readUntil bounds the time that reading the request may take; zero = no bound.
func readUntil(w http.ResponseWriter, end time.Time) {
	_ = http.NewResponseController(w).SetReadDeadline(end) // a writer that cannot is a test's
}

// oneFrame wants one message in its frame: no method takes more.
func oneFrame(body []byte) *connect.Error {
	switch {
	case len(body) < frameHeader:
		return badRequest("the body must be one message in its frame: a byte 0, the length in four bytes, the message")
	case body[0] == 1:
		return refusal(connect.CodeUnimplemented, "", "compressed requests are not accepted")
	case body[0] != 0 || int64(binary.BigEndian.Uint32(body[1:frameHeader])) != int64(len(body)-frameHeader):
		return badRequest("the body must be one message in its frame; the length in the frame is not that of what follows")
	}
	return nil
}

// jsonCodec is protobuf's JSON. Fields that are not known are errors: who writes JSON
// writes it by hand, and a misspelt option must not be lost without a word.
type jsonCodec struct {
	vanguard.JSONCodec
	server *Server
}

func (s *Server) newJSONCodec(types vanguard.TypeResolver) vanguard.Codec {
	return jsonCodec{vanguard.JSONCodec{
		MarshalOptions: protojson.MarshalOptions{Resolver: types}, UnmarshalOptions: protojson.UnmarshalOptions{Resolver: types},
	}, s}
}

// Unmarshal implements vanguard.Codec.
func (c jsonCodec) Unmarshal(data []byte, m proto.Message) error {
	var refused *connect.Error
	if parts(data) > mostParts {
		refused = badRequest("the request has more than " + strconv.Itoa(mostParts) + " objects and elements")
	} else if err := c.UnmarshalOptions.Unmarshal(data, m); err != nil {
		refused = badJSON(err)
	}
	if refused != nil {
		c.server.logRefusal(context.Background(), refused) // the transcoder answers, and there is no call
		return refused
	}
	return nil
}

// parts is how many objects and further members and elements a JSON text has.
func parts(text []byte) (n int) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', ',':
			n++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}
