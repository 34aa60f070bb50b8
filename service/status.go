package service

import (
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Status details travel in HTTP/2 trailers, which some clients limit to 8 KiB:
// past that the status itself is lost (contract M15, 1.25).
const (
	maxMessage        = 1 << 10 // of Error.message, in bytes
	maxStatusMessage  = 256     // of the status, in bytes as encoded
	maxMetadataValue  = 256
	maxViolationBytes = 2 << 10
	maxPushback       = time.Minute
)

// toStatus makes the status of an error, with its details.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	f := describe(err)
	s := status.New(f.code, cutEncoded(f.message, maxStatusMessage))
	info := &errdetails.ErrorInfo{Reason: f.reason, Domain: Domain, Metadata: map[string]string{}}
	for k, v := range f.metadata {
		info.Metadata[k] = cutBytes(v, maxMetadataValue)
	}
	details := []protoadapt.MessageV1{info}
	if f.retryAfter != nil {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(*f.retryAfter)})
	}
	if id := f.metadata["providerRequestId"]; id != "" {
		details = append(details, &errdetails.RequestInfo{RequestId: cutBytes(id, maxMetadataValue)})
	}
	if f.resource != "" {
		details = append(details, &errdetails.ResourceInfo{ResourceType: f.resource, Description: cutBytes(f.message, maxMetadataValue)})
	}
	if len(f.violations) > 0 {
		bad, omitted := badRequest(f.violations)
		if omitted > 0 {
			info.Metadata["violationsOmitted"] = strconv.Itoa(omitted)
		}
		details = append(details, bad)
	}
	switch {
	case f.reason == "RATE_LIMITED" || f.reason == "QUOTA_EXHAUSTED":
		details = append(details, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
			Subject: f.metadata["provider"], Description: f.reason,
		}}})
	case f.code == codes.FailedPrecondition && f.reason == "PROVIDER_CREDENTIALS_INVALID":
		details = append(details, &errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{
			Type: "CREDENTIALS", Subject: f.metadata["provider"], Description: "the service's own credentials were refused",
		}}})
	}
	withDetails, derr := s.WithDetails(details...)
	if derr != nil { // a detail that cannot be packed must not hide the status
		return s.Err()
	}
	return withDetails.Err()
}

func badRequest(vs []Violation) (bad *errdetails.BadRequest, omitted int) {
	bad = &errdetails.BadRequest{}
	size := 0
	for i, v := range vs {
		fv := &errdetails.BadRequest_FieldViolation{
			Field: cutBytes(v.Field, maxMetadataValue), Reason: v.Reason, Description: cutBytes(v.Description, maxMetadataValue),
		}
		if size += proto.Size(fv) + 4; size > maxViolationBytes {
			return bad, len(vs) - i
		}
		bad.FieldViolations = append(bad.FieldViolations, fv)
	}
	return bad, 0
}

// pushback is the trailer that tells gRPC clients when, or that they must not, try
// again by themselves. See https://github.com/grpc/proposal/blob/master/A6-client-retries.md.
func pushback(err error) metadata.MD {
	f := describe(err)
	switch {
	case f.never, f.retryAfter != nil && *f.retryAfter > maxPushback:
		return metadata.Pairs("grpc-retry-pushback-ms", "-1")
	case f.retryAfter != nil:
		return metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(f.retryAfter.Milliseconds(), 10))
	case f.reason == "SERVER_SHUTTING_DOWN":
		return metadata.Pairs("grpc-retry-pushback-ms", "0")
	}
	return nil
}

// cutBytes cuts a string to n bytes at a code point.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// cutEncoded cuts a string to n bytes as gRPC encodes it: bytes outside printable
// ASCII, and the per cent sign, take three.
func cutEncoded(s string, n int) string {
	for i, r := range s {
		size := 1
		if r < ' ' || r > '~' || r == '%' {
			size = 3 * utf8.RuneLen(r)
		}
		if n -= size; n < 0 {
			return s[:i]
		}
	}
	return s
}
