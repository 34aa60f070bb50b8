package faux

import (
	"github.com/llmd-dev/llmd/adapters"
	"github.com/llmd-dev/llmd/adapters/jsonwire"
	"github.com/llmd-dev/llmd/adapters/profile"
)

// writeOptions writes what the caller named, behind the conversation.
func writeOptions(w *jsonwire.Writer, call *adapters.Call) {
	writeToolChoice(w, call.Options)
	writeThinking(w, call.Options)
	writeSampling(w, call)
	g, o := call.Generation, call.Options
	w.MemberIf("service_tier", word(g.GetConfig().GetServiceTier().String(), "SERVICE_TIER_"))
	w.MemberIf("verbosity", word(g.GetConfig().GetVerbosity().String(), "VERBOSITY_"))
	if o.RetentionExplicit || o.SessionKey != "" {
		w.Key("cache")
		w.BeginObject()
		w.Member("retention", word(o.Retention.String(), "CACHE_RETENTION_"))
		w.MemberIf("session_key", o.SessionKey)
		w.EndObject()
	}
	w.MemberIf("user", g.GetUser())
}

func writeToolChoice(w *jsonwire.Writer, o *adapters.Options) {
	mode := word(o.ToolMode.String(), "TOOL_MODE_")
	if mode == "" {
		return
	}
	w.Key("tool_choice")
	w.BeginObject()
	w.Member("mode", mode)
	w.MemberIf("name", o.ToolName)
	w.EndObject()
}

func writeThinking(w *jsonwire.Writer, o *adapters.Options) {
	if o.Thinking == adapters.ThinkingDefault && !o.Summary {
		return
	}
	w.Key("thinking")
	w.BeginObject()
	switch o.Thinking {
	case adapters.ThinkingOff:
		w.Member("mode", "off")
	case adapters.ThinkingOn:
		w.Member("mode", "on")
		effort := o.EffortWord
		if effort == "" {
			effort = profile.EffortName(o.Effort)
		}
		w.Member("effort", effort)
		if o.BudgetTokens > 0 {
			w.Key("budget_tokens")
			w.Int(int64(o.BudgetTokens))
		}
	case adapters.ThinkingDefault:
	}
	if o.Summary {
		w.Key("summary")
		w.Bool(true)
	}
	w.EndObject()
}

func writeSampling(w *jsonwire.Writer, call *adapters.Call) {
	c := call.Generation.GetConfig()
	if n := call.Options.MaxOutputTokens; n > 0 {
		w.Key("max_output_tokens")
		w.Int(int64(n))
	}
	if c == nil {
		return
	}
	w.FloatIf("temperature", c.Temperature)
	w.FloatIf("top_p", c.TopP)
	if c.TopK != nil {
		w.Key("top_k")
		w.Int(int64(c.GetTopK()))
	}
	w.StringsIf("stop_sequences", c.GetStopSequences())
	if c.Seed != nil {
		w.Key("seed")
		w.Int(c.GetSeed())
	}
	if c.GetOutputJsonSchema() != "" {
		w.Key("output_schema")
		w.Raw(c.GetOutputJsonSchema())
	}
	if c.ParallelToolCalls != nil {
		w.Key("parallel_tool_calls")
		w.Bool(c.GetParallelToolCalls())
	}
}
