package options

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// conflicts are wishes that may not fit beside another one. The difference is that
// between the other wish alone and both.
func conflicts() []wish {
	var all []wish
	add := func(conflict, value string, b base, quiet string, set func(*llmdv1.Generation), fields ...string) {
		all = append(all, wish{
			option: "conflict", conflict: conflict, value: value, base: b, quiet: quiet, fields: fields,
			set: func(g *llmdv1.Generation, _ target) { set(g) },
		})
	}
	high := func(g *llmdv1.Generation) { setEffort(g, llmdv1.ReasoningEffort_REASONING_EFFORT_HIGH) }
	mode := func(m llmdv1.ToolMode) func(*llmdv1.Generation) {
		return func(g *llmdv1.Generation) {
			g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_Mode{Mode: m}}
		}
	}
	required, never := mode(llmdv1.ToolMode_TOOL_MODE_REQUIRED), mode(llmdv1.ToolMode_TOOL_MODE_NONE)

	const sampling = "sampling beside thinking"
	for _, v := range []float64{0.3, 1} {
		add(sampling, fmt.Sprintf("effort HIGH, then temperature %v", v), thinks, "", func(g *llmdv1.Generation) { config(g).Temperature = new(v) }, "config.temperature")
	}
	for _, v := range []float64{0.5, 0.97} {
		add(sampling, fmt.Sprintf("effort HIGH, then top_p %v", v), thinks, "", func(g *llmdv1.Generation) { config(g).TopP = new(v) }, "config.top_p")
	}
	add(sampling, "effort HIGH, then top_k 40", thinks, "", func(g *llmdv1.Generation) { config(g).TopK = proto.Int32(40) }, "config.top_k")
	add(sampling, "effort HIGH, then a stop sequence", thinks, "", func(g *llmdv1.Generation) { config(g).StopSequences = []string{"END"} }, "config.stop_sequences")
	add(sampling, "temperature 0.5, then effort NONE", warm, "where the model does not reason", func(g *llmdv1.Generation) {
		setEffort(g, llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)
	}, "reasoning.effort", "config.temperature")
	add("temperature beside top_p", "temperature 0.5, then top_p 0.9", warm, "", func(g *llmdv1.Generation) { config(g).TopP = new(0.9) }, "config.top_p")

	const forcing = "a tool that must be called, beside thinking"
	add(forcing, "effort HIGH, then tool_choice REQUIRED", thinksAll, "", required, "tool_choice", "reasoning.effort", "reasoning")
	add(forcing, "effort HIGH, then the tool \"look\"", thinksAll, "", func(g *llmdv1.Generation) {
		g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "look"}}
	}, "tool_choice", "reasoning.effort", "reasoning")
	add(forcing, "tool_choice REQUIRED, then a budget of 5000", forced, "", func(g *llmdv1.Generation) { reasoning(g).BudgetTokens = proto.Int32(5000) }, "reasoning.budget_tokens", "reasoning")

	const limit = "an output limit, which counts thinking"
	for _, n := range []int32{100, 1024, 1025, 2048, 5000} {
		add(limit, fmt.Sprintf("effort HIGH, then max_output_tokens %d", n), thinks, "", func(g *llmdv1.Generation) { config(g).MaxOutputTokens = new(n) }, "config.max_output_tokens", "reasoning")
	}
	for _, v := range [][2]int32{{8000, 8001}, {8000, 4000}, {8000, 1500}, {3000, 1000}} {
		add(limit, fmt.Sprintf("a budget of %d with max_output_tokens %d", v[0], v[1]), plain, "", func(g *llmdv1.Generation) {
			reasoning(g).BudgetTokens, config(g).MaxOutputTokens = new(v[0]), new(v[1])
		}, "reasoning.budget_tokens", "config.max_output_tokens", "reasoning")
	}

	const twice = "two things said about thinking"
	add(twice, "effort HIGH, then a budget of 5000", thinks, "", func(g *llmdv1.Generation) { reasoning(g).BudgetTokens = proto.Int32(5000) }, "reasoning.budget_tokens")
	add(twice, "effort NONE with a budget of 5000", plain, "", func(g *llmdv1.Generation) {
		setEffort(g, llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)
		reasoning(g).BudgetTokens = proto.Int32(5000)
	}, "reasoning.budget_tokens", "reasoning.effort")
	add(twice, "effort NONE with include_summary", plain, "", func(g *llmdv1.Generation) {
		setEffort(g, llmdv1.ReasoningEffort_REASONING_EFFORT_NONE)
		reasoning(g).IncludeSummary = true
	}, "reasoning.include_summary", "reasoning.effort")

	const unthought = "thinking in the middle of a turn that did not think"
	add(unthought, "a result is handed in, then effort HIGH", turn, "", high, "reasoning.effort", "reasoning")
	add(unthought, "a result is handed in without tools, then effort HIGH", past, "", high, "reasoning.effort", "reasoning")
	add(unthought, "a result is handed in, then a budget of 5000", turn, "", func(g *llmdv1.Generation) { reasoning(g).BudgetTokens = proto.Int32(5000) }, "reasoning.budget_tokens", "reasoning")

	const prefill = "an answer that is to go on"
	goOn := func(g *llmdv1.Generation) { g.Context.Messages = append(g.Context.Messages, beginning()) }
	const last = "context.messages[1]"
	add(prefill, "by itself", plain, "", goOn, last, last+".assistant")
	add(prefill, "effort HIGH, then an answer that is to go on", thinks, "", goOn, last, "reasoning", "reasoning.effort")
	add(prefill, "tool_choice REQUIRED, then an answer that is to go on", forced, "", goOn, last, "tool_choice")
	add(prefill, "with output_json_schema", plain, "", func(g *llmdv1.Generation) {
		goOn(g)
		config(g).OutputJsonSchema = exact
	}, last, "config.output_json_schema")

	const calls = "rules for calls"
	single := func(g *llmdv1.Generation) { config(g).ParallelToolCalls = new(false) }
	add(calls, "tool_choice REQUIRED, then parallel_tool_calls false", forced, "", single, "config.parallel_tool_calls")
	add(calls, "tool_choice NONE with parallel_tool_calls false", tools, "", func(g *llmdv1.Generation) {
		never(g)
		single(g)
	}, "config.parallel_tool_calls", "tool_choice")
	add(calls, "effort HIGH, then parallel_tool_calls false", thinksAll, "", single, "config.parallel_tool_calls")
	add(calls, "tool_choice NONE while strict is REQUIRE", one, "", func(g *llmdv1.Generation) {
		never(g)
		g.Context.Tools[0].Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
	}, "context.tools[0].strict", "tool_choice")
	add(calls, "strict REQUIRE for one of two tools", tools, "", func(g *llmdv1.Generation) {
		g.Context.Tools[1].Strict = llmdv1.StrictMode_STRICT_MODE_REQUIRE
	}, "context.tools[1].strict")
	add(calls, "strict REQUIRE for a tool that is not exposed", tools, "", func(g *llmdv1.Generation) {
		g.Context.Tools[0].Strict, g.Context.Tools[0].ParametersJsonSchema = llmdv1.StrictMode_STRICT_MODE_REQUIRE, awkward
		g.ToolChoice = &llmdv1.ToolChoice{Choice: &llmdv1.ToolChoice_ToolName{ToolName: "look"}}
	}, "tool_choice")
	add(calls, "the tools of the history are gone, tool_choice NONE", past, "there is no tool to be called", never, "tool_choice")

	const form = "the form of the answer"
	schema := func(g *llmdv1.Generation) { config(g).OutputJsonSchema = exact }
	add(form, "output_json_schema with tools", tools, "", schema, "config.output_json_schema")
	add(form, "output_json_schema with effort HIGH", thinks, "", schema, "config.output_json_schema")
	add(form, "output_json_schema with verbosity LOW", plain, "", func(g *llmdv1.Generation) {
		schema(g)
		config(g).Verbosity = llmdv1.Verbosity_VERBOSITY_LOW
	}, "config.output_json_schema", "config.verbosity")
	add(form, "service_tier FAST with verbosity LOW", plain, "", func(g *llmdv1.Generation) {
		config(g).ServiceTier, config(g).Verbosity = llmdv1.ServiceTier_SERVICE_TIER_FAST, llmdv1.Verbosity_VERBOSITY_LOW
	}, "config.service_tier", "config.verbosity")
	return all
}
