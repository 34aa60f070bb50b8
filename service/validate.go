package service

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/internal/catalog"
	"github.com/llmd-dev/llmd/internal/near"
	"github.com/llmd-dev/llmd/toolcheck"
)

// Limits on requests, from contract 2.4 and 2.5.
const (
	maxRequestID   = 128
	maxToolCallID  = 512
	maxOpaqueBytes = 1 << 20
	maxStops       = 16
	maxLabels      = 32
	maxLabelBytes  = 256
	maxRetries     = 10
	maxFallbacks   = 10
	maxReason      = 256
	// maxModelName has room for a provider's id and the longest id of a model that an API
	// takes: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
	maxModelName = 256 + 2048
	// maxViolations are more than a status has room for. A request may break rules at
	// millions of places.
	maxViolations = 100
)

// The reasons of violations.
const (
	reasonRequired  = "REQUIRED"
	reasonInvalid   = "INVALID"
	reasonRange     = "OUT_OF_RANGE"
	reasonDuplicate = "DUPLICATE"
	reasonTooMany   = "TOO_MANY"
	reasonTooLong   = "TOO_LONG"
	reasonUnknown   = "UNKNOWN_VALUE"
)

// checker collects the faults of one request.
type checker struct {
	violations []Violation
	more       int // that are counted alone
	// schemas is required where a request has schemas.
	schemas    *toolcheck.Cache
	schemaWork int
	// provider says why an id is no provider's; required where a request may name
	// some.
	provider func(id string) error
}

func (c *checker) add(field, reason, format string, args ...any) {
	if len(c.violations) == maxViolations {
		c.more++
		return
	}
	c.violations = append(c.violations, Violation{Field: field, Reason: reason, Description: fmt.Sprintf(format, args...)})
}

func (c *checker) err() error {
	if len(c.violations) == 0 {
		return nil
	}
	return &InvalidError{Violations: c.violations, More: c.more}
}

func (c *checker) required(field, value string) {
	if value == "" {
		c.add(field, reasonRequired, "must not be empty")
	}
}

// model checks the name of a model. Any id may be one that a provider does not list, and
// names stand in logs and traces.
func (c *checker) model(field, name string) {
	c.required(field, name)
	if len(name) > maxModelName {
		c.add(field, reasonTooLong, "must have at most %d bytes", maxModelName)
	}
}

// enum refuses numbers that this version does not know: an explicit wish that is
// not understood cannot be honoured.
func (c *checker) enum(field string, v protoreflect.Enum) {
	if v.Descriptor().Values().ByNumber(v.Number()) == nil {
		c.add(field, reasonUnknown, "value %d is not known", v.Number())
	}
}

func (c *checker) duration(field string, d *durationpb.Duration, least time.Duration) {
	if d == nil {
		return
	}
	if err := d.CheckValid(); err != nil {
		c.add(field, reasonInvalid, "is not a valid duration")
	} else if d.AsDuration() < least {
		c.add(field, reasonRange, "must be at least %s", least)
	}
}

// object wants JSON text of one object.
func (c *checker) object(field, text string) {
	if err := jsonstream.Object([]byte(text)); err != nil {
		c.add(field, reasonInvalid, "must be the JSON text of one object: %s", strings.TrimPrefix(err.Error(), "jsonstream: "))
	}
}

// present wants a oneof to be set. Unknown fields mean a kind that is newer than
// this version: such a message is let through.
func (c *checker) present(field string, m proto.Message, set bool) bool {
	if set {
		return true
	}
	if len(m.ProtoReflect().GetUnknown()) == 0 {
		c.add(field, reasonRequired, "nothing is set")
	}
	return false
}

func validateStream(req *llmdv1.StreamRequest, c *checker) error {
	c.requestID("request_id", req.GetRequestId())
	c.generation(req.GetGeneration())
	o := req.GetOptions()
	c.duration("options.heartbeat_interval", o.GetHeartbeatInterval(), time.Second)
	c.duration("options.deadline_margin", o.GetDeadlineMargin(), 0)
	c.enum("options.snapshot_mode", o.GetSnapshotMode())
	return c.err()
}

// validateMargin wants something to be left of the call's time after the margin;
// soft is the time that the two lead to, zero without a deadline.
func validateMargin(soft time.Time, o *llmdv1.StreamOptions) error {
	c := &checker{}
	if o.GetDeadlineMargin() != nil && !soft.IsZero() && !soft.After(time.Now()) {
		c.add("options.deadline_margin", reasonRange, "must be less than the time until the call's deadline")
	}
	return c.err()
}

func validateGeneration(g *llmdv1.Generation, c *checker) error {
	c.generation(g)
	return c.err()
}

// target checks the id of an Abort or GetResponse.
func validateTarget(responseID, requestID string, set bool, reason string) error {
	c := &checker{}
	switch {
	case !set || responseID == "" && requestID == "":
		c.add("target", reasonRequired, "set response_id or request_id")
	case responseID == "":
		c.requestID("request_id", requestID)
	}
	if utf8.RuneCountInString(reason) > maxReason {
		c.add("reason", reasonTooLong, "must have at most %d characters", maxReason)
	}
	return c.err()
}

func (c *checker) requestID(field, id string) {
	if id == "" {
		return
	}
	if utf8.RuneCountInString(id) > maxRequestID {
		c.add(field, reasonTooLong, "must have at most %d characters", maxRequestID)
	}
	if strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }) {
		c.add(field, reasonInvalid, "must be printable")
	}
}

func (c *checker) generation(g *llmdv1.Generation) {
	if g == nil {
		c.add("generation", reasonRequired, "must be set")
		return
	}
	c.model("generation.model", g.GetModel())
	c.context(g.GetContext())
	c.config(g.GetConfig())
	c.enum("generation.reasoning.effort", g.GetReasoning().GetEffort())
	if r := g.GetReasoning(); r != nil && r.BudgetTokens != nil && r.GetBudgetTokens() < 1 {
		c.add("generation.reasoning.budget_tokens", reasonRange, "must be at least 1")
	}
	c.toolChoice(g.GetToolChoice(), g.GetContext().GetTools())
	c.enum("generation.cache.retention", g.GetCache().GetRetention())
	if n := len(g.GetLabels()); n > maxLabels {
		c.add("generation.labels", reasonTooMany, "must be at most %d, not %d", maxLabels, n)
	}
	for k, v := range g.GetLabels() {
		if len(k) > maxLabelBytes || len(v) > maxLabelBytes {
			c.add("generation.labels", reasonTooLong, "keys and values must have at most %d bytes", maxLabelBytes)
			break
		}
	}
	for _, id := range slices.Sorted(maps.Keys(g.GetProviderOptionsJson())) {
		field := fmt.Sprintf("generation.provider_options_json[%s]", id)
		c.object(field, g.GetProviderOptionsJson()[id])
		// One that is known and not asked may be there for a fallback.
		if unknown, ok := errors.AsType[*catalog.UnknownProviderError](c.provider(id)); ok {
			c.add(field, reasonInvalid, "names no provider%s", near.Question(unknown.Suggestions))
		}
	}
	c.handoff(g.GetHandoff())
	c.reliability(g)
}

func (c *checker) handoff(h *llmdv1.HandoffPolicy) {
	c.enum("generation.handoff.foreign_thinking", h.GetForeignThinking())
	c.enum("generation.handoff.broken_tool_groups", h.GetBrokenToolGroups())
	c.enum("generation.handoff.unsupported_images", h.GetUnsupportedImages())
	c.enum("generation.handoff.aborted_turns", h.GetAbortedTurns())
}

func (c *checker) reliability(g *llmdv1.Generation) {
	if n := g.GetRetry().GetMaxRetries(); n < 0 || n > maxRetries {
		c.add("generation.retry.max_retries", reasonRange, "must be from 0 to %d", maxRetries)
	}
	c.duration("generation.retry.max_delay", g.GetRetry().GetMaxDelay(), 0)
	if n := len(g.GetFallbackModels()); n > maxFallbacks {
		c.add("generation.fallback_models", reasonTooMany, "must be at most %d, not %d", maxFallbacks, n)
	}
	for i, m := range g.GetFallbackModels() {
		c.model(fmt.Sprintf("generation.fallback_models[%d]", i), m)
	}
	w := g.GetWatchdog()
	c.duration("generation.watchdog.idle_timeout", w.GetIdleTimeout(), time.Second)
	c.duration("generation.watchdog.stall_warning", w.GetStallWarning(), 0)
	c.duration("generation.watchdog.header_timeout", w.GetHeaderTimeout(), time.Millisecond)
}

func (c *checker) config(g *llmdv1.GenerationConfig) {
	if g == nil {
		return
	}
	const at = "generation.config."
	if v := g.Temperature; v != nil && !(*v >= 0 && *v <= 2) {
		c.add(at+"temperature", reasonRange, "must be from 0 to 2")
	}
	if v := g.TopP; v != nil && !(*v > 0 && *v <= 1) {
		c.add(at+"top_p", reasonRange, "must be above 0 and at most 1")
	}
	if v := g.TopK; v != nil && *v < 1 {
		c.add(at+"top_k", reasonRange, "must be at least 1")
	}
	if v := g.MaxOutputTokens; v != nil && *v < 1 {
		c.add(at+"max_output_tokens", reasonRange, "must be at least 1")
	}
	if n := len(g.GetStopSequences()); n > maxStops {
		c.add(at+"stop_sequences", reasonTooMany, "must be at most %d, not %d", maxStops, n)
	}
	for i, s := range g.GetStopSequences() {
		c.required(fmt.Sprintf("%sstop_sequences[%d]", at, i), s)
	}
	if s := g.GetOutputJsonSchema(); s != "" {
		c.schema(at+"output_json_schema", s)
	}
	c.enum(at+"service_tier", g.GetServiceTier())
	c.enum(at+"verbosity", g.GetVerbosity())
}

func (c *checker) toolChoice(t *llmdv1.ToolChoice, tools []*llmdv1.Tool) {
	const at = "generation.tool_choice."
	switch t.GetChoice().(type) {
	case *llmdv1.ToolChoice_Mode:
		c.enum(at+"mode", t.GetMode())
		if t.GetMode() == llmdv1.ToolMode_TOOL_MODE_REQUIRED && len(tools) == 0 {
			c.add(at+"mode", reasonInvalid, "a tool is required, but there are no tools")
		}
	case *llmdv1.ToolChoice_ToolName:
		if !slices.ContainsFunc(tools, func(x *llmdv1.Tool) bool { return x.GetName() == t.GetToolName() }) {
			c.add(at+"tool_name", reasonInvalid, "is not the name of one of the tools")
		}
	}
}

func (c *checker) context(x *llmdv1.Context) {
	const at = "generation.context"
	if x == nil {
		c.add(at, reasonRequired, "must be set")
		return
	}
	if len(x.GetMessages()) == 0 {
		c.add(at+".messages", reasonRequired, "must have at least one message")
	}
	for i, m := range x.GetMessages() {
		c.message(fmt.Sprintf("%s.messages[%d]", at, i), m)
	}
	c.tools(at+".tools", x.GetTools())
}

// validToolName says whether a name matches ^[a-zA-Z0-9_-]{1,64}$.
func validToolName(s string) bool {
	return len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func (c *checker) tools(at string, tools []*llmdv1.Tool) {
	seen := make(map[string]bool, len(tools))
	for i, t := range tools {
		field := fmt.Sprintf("%s[%d]", at, i)
		switch name := t.GetName(); {
		case name == "":
			c.add(field+".name", reasonRequired, "must not be empty")
		case !validToolName(name):
			c.add(field+".name", reasonInvalid, "must match ^[a-zA-Z0-9_-]{1,64}$")
		case seen[name]:
			c.add(field+".name", reasonDuplicate, "another tool has this name")
		}
		seen[t.GetName()] = true
		if s := t.GetParametersJsonSchema(); s != "" {
			c.parameters(field+".parameters_json_schema", s)
		}
		c.enum(field+".strict", t.GetStrict())
	}
}

func (c *checker) message(at string, m *llmdv1.Message) {
	if !c.present(at, m, m.GetMessage() != nil) {
		return
	}
	switch t := m.GetMessage().(type) {
	case *llmdv1.Message_User:
		c.user(at+".user", t.User)
	case *llmdv1.Message_Assistant:
		c.assistant(at+".assistant", t.Assistant)
	case *llmdv1.Message_ToolResult:
		c.toolResult(at+".tool_result", t.ToolResult)
	}
}

func (c *checker) user(at string, u *llmdv1.UserMessage) {
	if len(u.GetContent()) == 0 {
		c.add(at+".content", reasonRequired, "must have at least one block")
	}
	for i, b := range u.GetContent() {
		field := fmt.Sprintf("%s.content[%d]", at, i)
		if c.present(field, b, b.GetBlock() != nil) && b.GetImage() != nil {
			c.image(field+".image", b.GetImage())
		}
	}
}

func (c *checker) toolResult(at string, r *llmdv1.ToolResultMessage) {
	c.required(at+".tool_call_id", r.GetToolCallId())
	for i, b := range r.GetContent() {
		field := fmt.Sprintf("%s.content[%d]", at, i)
		if c.present(field, b, b.GetBlock() != nil) && b.GetImage() != nil {
			c.image(field+".image", b.GetImage())
		}
	}
	if len(r.GetDetailsJson()) > maxOpaqueBytes {
		c.add(at+".details_json", reasonTooLong, "must have at most 1 MiB")
	}
}

func (c *checker) image(at string, i *llmdv1.ImageContent) {
	switch i.GetSource().(type) {
	case *llmdv1.ImageContent_Data:
		if len(i.GetData()) == 0 {
			c.add(at+".data", reasonRequired, "must not be empty")
		}
		c.required(at+".mime_type", i.GetMimeType())
	case *llmdv1.ImageContent_Uri:
		c.required(at+".uri", i.GetUri())
	default:
		c.present(at, i, false)
	}
}

func (c *checker) assistant(at string, m *llmdv1.AssistantMessage) {
	c.enum(at+".stop_reason", m.GetStopReason())
	for i, b := range m.GetContent() {
		field := fmt.Sprintf("%s.content[%d]", at, i)
		switch t := b.GetBlock().(type) {
		case *llmdv1.AssistantContent_Text:
			c.signature(field+".text.signature", t.Text.GetSignature())
		case *llmdv1.AssistantContent_Thinking:
			c.signature(field+".thinking.signature", t.Thinking.GetSignature())
		case *llmdv1.AssistantContent_ToolCall:
			c.toolCall(field+".tool_call", t.ToolCall)
		case *llmdv1.AssistantContent_ProviderContent:
			c.providerContent(field+".provider_content", t.ProviderContent)
		default:
			c.present(field, b, false)
		}
	}
}

func (c *checker) toolCall(at string, t *llmdv1.ToolCall) {
	c.required(at+".id", t.GetId())
	if utf8.RuneCountInString(t.GetId()) > maxToolCallID {
		c.add(at+".id", reasonTooLong, "must have at most %d characters", maxToolCallID)
	}
	c.required(at+".name", t.GetName())
	c.signature(at+".signature", t.GetSignature())
}

func (c *checker) signature(at string, s *llmdv1.Signature) {
	if s == nil {
		return
	}
	if n := len(s.GetData()); n == 0 {
		c.add(at+".data", reasonRequired, "must not be empty")
	} else if n > maxOpaqueBytes {
		c.add(at+".data", reasonTooLong, "must have at most 1 MiB")
	}
}

func (c *checker) providerContent(at string, p *llmdv1.ProviderContent) {
	c.required(at+".api", p.GetApi())
	c.required(at+".provider", p.GetProvider())
	if len(p.GetRawJson()) == 0 {
		c.add(at+".raw_json", reasonRequired, "must not be empty")
	} else if err := jsonstream.Object(p.GetRawJson()); err != nil && len(p.GetRawJson()) <= maxOpaqueBytes {
		c.add(at+".raw_json", reasonInvalid, "must be the JSON text of one object")
	}
}
