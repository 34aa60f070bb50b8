package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// describe is an error for people. A status begins with its reason, which is what
// docs/errors.md lists; one without a reason came from gRPC itself. Behind it stands after
// what delay another try makes sense.
func describe(err error) string {
	// status.FromError would put the text of what wraps a status into its message.
	var with interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &with) {
		return err.Error()
	}
	st := with.GRPCStatus()
	if reason := reasonOf(st); reason != "" {
		return reason + ": " + st.Message() + again(st)
	}
	return st.Code().String() + ": " + st.Message()
}

// again is empty where the status names no delay.
func again(st *status.Status) string {
	for _, d := range st.Details() {
		if retry, ok := d.(*errdetails.RetryInfo); ok && retry.GetRetryDelay().AsDuration() > 0 {
			return fmt.Sprintf(" (try again in %s)", retry.GetRetryDelay().AsDuration().Round(time.Millisecond))
		}
	}
	return ""
}

// unanswered puts an error of a call to an llmd elsewhere into plainer words where
// nobody answered there at all. Others stay as they are.
func unanswered(address string, err error) error {
	st, ok := status.FromError(err)
	if address == "" || !ok || reasonOf(st) != "" {
		return err
	}
	if st.Code() == codes.DeadlineExceeded {
		return fmt.Errorf("no llmd answers at %s in time", address)
	}
	// What grpc-go says of connections that were not made.
	for _, begin := range []string{"connection error: desc = ", "name resolver error: "} {
		if cause, ok := strings.CutPrefix(st.Message(), begin); ok && st.Code() == codes.Unavailable {
			cause = strings.TrimPrefix(strings.Trim(cause, `"`), "transport: Error while dialing: ")
			return fmt.Errorf("no llmd answers at %s (%s): %s", address, advice(cause), cause)
		}
	}
	return err
}

// advice is what may help against the cause of a connection that was not made, as
// grpc-go and crypto/tls put it.
func advice(cause string) string {
	switch {
	case strings.Contains(cause, "tls: certificate required"):
		return "it wants a client certificate: use --tls-cert and --tls-key"
	case strings.Contains(cause, "remote error: tls:"):
		return "it does not take the certificate of --tls-cert"
	case strings.Contains(cause, "error reading server preface"):
		return "does it want TLS? Then use --tls or --tls-ca"
	case strings.Contains(cause, "first record does not look like a TLS handshake"):
		return "it speaks no TLS"
	case strings.Contains(cause, "certificate signed by unknown authority"):
		return "give its authority with --tls-ca"
	case strings.Contains(cause, "x509: cannot validate certificate for"), strings.Contains(cause, "valid for ") && strings.Contains(cause, "x509: certificate is"):
		return "call it by a name that its certificate has"
	case strings.Contains(cause, "x509: certificate has expired"):
		return "its certificate has run out"
	}
	return `is "llmd serve" running?`
}

// reasonOf is the reason in a status, empty if it has none.
func reasonOf(st *status.Status) string { return infoOf(st).GetReason() }

// causeOf is the metadata "cause" of a status.
func causeOf(st *status.Status) string { return infoOf(st).GetMetadata()["cause"] }

// infoOf is nil if the status has none.
func infoOf(st *status.Status) *errdetails.ErrorInfo {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}
