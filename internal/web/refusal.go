package web

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

const domain = "llmd.dev" // as service.Domain

// refusal is why a request does not become a call. It is an error in the words of
// Connect, which the transcoder writes in the client's protocol.
func refusal(code connect.Code, reason, message string) *connect.Error {
	err := connect.NewError(code, text(message))
	if reason == "" {
		return err
	}
	if detail, problem := connect.NewErrorDetail(&errdetails.ErrorInfo{Reason: reason, Domain: domain}); problem == nil {
		err.AddDetail(detail)
	}
	return err
}

// text is an error that is nothing but its words.
type text string

func (t text) Error() string { return string(t) }

func badRequest(message string) *connect.Error {
	return refusal(connect.CodeInvalidArgument, "INVALID_REQUEST", message)
}

// tooLarge has no details, as that of gRPC.
func tooLarge() *connect.Error {
	return refusal(connect.CodeResourceExhausted, "", "the request is larger than server.max_receive_bytes")
}

func hostRefused() *connect.Error {
	return refusal(connect.CodePermissionDenied, "HOST_NOT_ALLOWED", "llmd is called by a name that is not in server.web.allowed_hosts")
}

func originRefused() *connect.Error {
	return refusal(connect.CodePermissionDenied, "ORIGIN_NOT_ALLOWED", "the page's origin is not in server.web.allowed_origins")
}

// refuse answers in the client's protocol, or in plain words where it speaks none.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err *connect.Error) {
	s.logRefusal(r.Context(), err)
	if s.errors.IsSupported(r) {
		_ = s.errors.Write(w, r, err) // nobody is there to be told
		return
	}
	status := http.StatusUnsupportedMediaType
	if err.Code() == connect.CodePermissionDenied {
		status = http.StatusForbidden
	}
	http.Error(w, err.Message(), status)
}

// logRefusal is the line of a request that is no call. The words stay out of it: they
// may repeat the request.
func (s *Server) logRefusal(ctx context.Context, err *connect.Error) {
	attrs := []slog.Attr{slog.String("code", err.Code().String())}
	if reason := reasonOf(err); reason != "" {
		attrs = append(attrs, slog.String("reason", reason))
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "web request refused", attrs...)
}

func reasonOf(err *connect.Error) string {
	for _, detail := range err.Details() {
		if v, problem := detail.Value(); problem == nil {
			if info, ok := v.(*errdetails.ErrorInfo); ok {
				return info.GetReason()
			}
		}
	}
	return ""
}

// unknown answers for paths that are no method.
func (s *Server) unknown(w http.ResponseWriter, r *http.Request) {
	const words = "there is no such method; paths are gRPC's, such as /llmd.v1.InferenceService/Complete"
	if s.errors.IsSupported(r) {
		_ = s.errors.Write(w, r, refusal(connect.CodeUnimplemented, "", words))
		return
	}
	http.Error(w, words, http.StatusNotFound)
}

// badJSON says where the JSON is not the message. protojson varies its blanks so that
// nobody compares its words.
func badJSON(err error) *connect.Error {
	const most = 256
	words := strings.Join(strings.Fields(strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "\uFFFD"), "\u00a0", " ")), " ")
	words = strings.TrimPrefix(words, "proto: ")
	if len(words) > most {
		words = strings.ToValidUTF8(words[:most], "") + "..."
	}
	return badRequest("the JSON is not the method's request message: " + words)
}

// recovered writes a panic's place, and of its value only the type: the value may hold
// a prompt.
func (s *Server) recovered(ctx context.Context, kind, stack string) {
	s.log.ErrorContext(ctx, "web handler panicked", "type", kind, "stack", stack)
}
