package main

import (
	"errors"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

// describe is an error for people. A status begins with its reason, which is what
// docs/errors.md lists; one without a reason came from gRPC itself.
func describe(err error) string {
	// status.FromError would put the text of what wraps a status into its message.
	var with interface{ GRPCStatus() *status.Status }
	if !errors.As(err, &with) {
		return err.Error()
	}
	st := with.GRPCStatus()
	if reason := reasonOf(st); reason != "" {
		return reason + ": " + st.Message()
	}
	return st.Code().String() + ": " + st.Message()
}

// reasonOf is the reason in a status, empty if it has none.
func reasonOf(st *status.Status) string {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
