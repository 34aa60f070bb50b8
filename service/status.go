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
	maxMessage       = 1 << 10 // of Error.message, in bytes
	maxStatusMessage = 256     // of the status, in bytes as encoded
	maxMetadataValue = 256
	maxDetailBytes   = 2 << 10 // of all details; base64 makes a third more of them
	detailOverhead   = 64      // of one detail: its type's name and lengths
	maxPushback      = time.Minute
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
	details := append([]protoadapt.MessageV1{info}, f.details()...)
	room := maxDetailBytes - len(s.Message())
	for _, d := range details {
		room -= proto.Size(protoadapt.MessageV2Of(d)) + detailOverhead
	}
	// What may be long and is said elsewhere too goes first.
	for _, fact := range [...]string{"suggestions", "capability", "providerErrorType", "requestId", "model"} {
		if v, there := info.Metadata[fact]; there && room < 0 {
			room += len(fact) + len(v)
			delete(info.Metadata, fact)
		}
	}
	if len(f.violations) > 0 {
		bad, omitted := badRequest(f.violations, room-detailOverhead)
		if omitted += f.moreViolations; omitted > 0 {
			info.Metadata["violationsOmitted"] = strconv.Itoa(omitted)
		}
		details = append(details, bad)
	}
	withDetails, derr := s.WithDetails(details...)
	if derr != nil { // a detail that cannot be packed must not hide the status
		return s.Err()
	}
	return withDetails.Err()
}

// details are those besides ErrorInfo and BadRequest.
func (f *fault) details() []protoadapt.MessageV1 {
	var out []protoadapt.MessageV1
	provider := cutBytes(f.metadata["provider"], maxMetadataValue)
	if f.retryAfter != nil {
		out = append(out, &errdetails.RetryInfo{RetryDelay: durationpb.New(*f.retryAfter)})
	}
	if id := f.metadata["providerRequestId"]; id != "" {
		out = append(out, &errdetails.RequestInfo{RequestId: cutBytes(id, maxMetadataValue)})
	}
	if f.resource != "" {
		out = append(out, &errdetails.ResourceInfo{
			ResourceType: f.resource, ResourceName: cutBytes(f.resourceName, maxMetadataValue), Description: cutBytes(f.message, maxMetadataValue),
		})
	}
	switch {
	case f.reason == "RATE_LIMITED" || f.reason == "QUOTA_EXHAUSTED":
		out = append(out, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{
			Subject: provider, Description: f.reason,
		}}})
	case f.code == codes.FailedPrecondition && f.reason == "PROVIDER_CREDENTIALS_INVALID":
		out = append(out, &errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{
			Type: "CREDENTIALS", Subject: provider, Description: "the service's own credentials are missing or were refused",
		}}})
	}
	return out
}

// badRequest lists what fits into room bytes.
func badRequest(vs []Violation, room int) (bad *errdetails.BadRequest, omitted int) {
	bad = &errdetails.BadRequest{}
	size := 0
	for i, v := range vs {
		fv := &errdetails.BadRequest_FieldViolation{
			Field: cutBytes(v.Field, maxMetadataValue), Reason: v.Reason, Description: cutBytes(v.Description, maxMetadataValue),
		}
		if size += proto.Size(fv) + 4; size > room {
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
		wait := (*f.retryAfter + time.Millisecond - 1).Milliseconds() // never early
		return metadata.Pairs("grpc-retry-pushback-ms", strconv.FormatInt(wait, 10))
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
