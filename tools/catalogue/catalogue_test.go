package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A small list in the shape of the real one: kinds that are not ours, a dated
// twin, a price guard, flags without a meaning here.
const list = `{
 "openai-completions": {
  "chat:b": {"id": "b", "name": "B: the model", "reasoning": true, "input": ["text", "image"], "contextWindow": 1000, "maxTokens": 10,
   "cost": {"input": 0.1, "output": 12.50, "cacheRead": 0, "cacheWrite": 0},
   "thinkingLevelMap": {"off": "none", "minimal": null, "low": "low", "high": "hard", "xhigh": "xhigh", "max": null},
   "compat": {"supportsStore": false, "supportsStrictMode": true, "supportsToolSearch": true}},
  "chat:a": {"id": "a", "name": "a", "reasoning": false, "input": ["text"], "contextWindow": 5, "maxTokens": 5,
   "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "compat": {"supportsStore": false, "supportsStrictMode": false}},
  "chat:a:free": {"id": "a:free", "name": "A (free)", "input": ["text"], "contextWindow": 5, "maxTokens": 5,
   "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "compat": {"supportsStore": false}},
  "image:i": {"id": "i", "cost": {"input": 1, "output": 1}}
 },
 "anthropic-messages": {
  "chat:c": {"id": "c", "name": "C (latest)", "contextWindow": 100, "maxTokens": 5, "compat": {"forceAdaptiveThinking": true},
   "cost": {"input": 1, "output": 2, "cacheRead": 0.0000004, "cacheWrite": 0, "tiers": [
     {"inputTokensAbove": 200, "input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0},
     {"inputTokensAbove": 100, "input": 2, "output": 3, "cacheRead": 0, "cacheWrite": 0}]}},
  "chat:c-20260101": {"id": "c-20260101", "name": "C", "contextWindow": 100, "maxTokens": 5, "compat": {"forceAdaptiveThinking": true},
   "cost": {"input": 1, "output": 2, "cacheRead": 0.0000004, "cacheWrite": 0, "tiers": [
     {"inputTokensAbove": 200, "input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0},
     {"inputTokensAbove": 100, "input": 2, "output": 3, "cacheRead": 0, "cacheWrite": 0}]}},
  "chat:b": {"id": "b", "name": "B elsewhere", "contextWindow": 1, "maxTokens": 1, "cost": {"input": 9, "output": 9}}
 }
}`

// resold are models of it under another provider, of whose levels less is known.
const resold = `{"resold": {
  "chat:b": {"id": "b", "reasoning": true, "contextWindow": 1000, "maxTokens": 10, "cost": {"input": 0.1, "output": 1}, "thinkingLevelMap": {"off": null}},
  "chat:z": {"id": "z", "reasoning": true, "contextWindow": 1000, "maxTokens": 10, "cost": {"input": 0.1, "output": 1}, "thinkingLevelMap": {"off": null}}
}}`

// What Bedrock can be asked for, and what not: to think not at all, of a Claude that always
// thinks.
func TestConverseLevels(t *testing.T) {
	apis := map[string]map[string]entry{converse: {}}
	for _, id := range []string{"eu.anthropic.claude-opus-5-5", "anthropic.claude-sonnet-5-5", "anthropic.claude-haiku-5-5", "openai.gpt-oss-20b-1:0", "zai.glm-5"} {
		apis[converse]["chat:"+id] = entry{ID: id, Reasoning: true}
	}
	want := map[string]string{
		"eu.anthropic.claude-opus-5-5": "{none: null}", "anthropic.claude-sonnet-5-5": "{none: null}", "anthropic.claude-haiku-5-5": "",
		"openai.gpt-oss-20b-1:0": "{none: null}", "zai.glm-5": "{none: null, minimal: null, low: null, medium: null, high: null}",
	}
	for _, m := range choose(source{provider: "amazon-bedrock", api: converse}, apis) {
		if got := m.efforts(); got != want[m.ID] {
			t.Errorf("%s: %s, want %s", m.ID, got, want[m.ID])
		}
	}
}

func TestCatalogue(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"lab.json": list, "resold.json": resold} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		s    source
		want string
	}{
		{source{provider: "lab", api: "openai-completions", others: []string{"anthropic-messages"}}, `providers:
  - id: lab
    compat: {supports_store: false}
    models:
      - {id: "a", context_window_tokens: 5, max_output_tokens: 5, compat: {supports_strict_mode: false}}
      - {id: "a:free", display_name: "A (free)", context_window_tokens: 5, max_output_tokens: 5, pricing: {input: 0, cache_read: 0, cache_write: 0, output: 0}}
      - {id: "b", display_name: "B: the model", reasoning: true, efforts: {none: none, minimal: null, high: hard, xhigh: xhigh}, input: [text, image], context_window_tokens: 1000, max_output_tokens: 10, pricing: {input: 0.1, cache_read: 0, cache_write: 0, output: 12.5}, compat: {supports_strict_mode: true}}
      - {id: c-20260101, display_name: "C", aliases: [c], context_window_tokens: 1050000, max_output_tokens: 5, pricing: {input: 1, cache_read: 0, cache_write: 0, output: 2, tiers: [{above: 100, input: 2, cache_read: 0, cache_write: 0, output: 3}, {above: 200, input: 3, cache_read: 0, cache_write: 0, output: 4}]}}
`},
		{source{provider: "resold", api: "resold", levels: "lab"}, `    models:
      - {id: "b", reasoning: true, efforts: {none: none, minimal: null, high: hard, xhigh: xhigh}, context_window_tokens: 1000, max_output_tokens: 10, pricing: {input: 0.1, cache_read: 0, cache_write: 0, output: 1}}
      - {id: "z", reasoning: true, efforts: {none: null}, context_window_tokens: 1000,`},
		{source{provider: "lab", api: "openai-completions", wrong: []string{"supportsStrictMode"}}, `      - {id: "a", context_window_tokens: 5, max_output_tokens: 5}
`},
		{source{provider: "lab", api: "openai-completions", perModel: []string{"anthropic-messages"}}, `      - {id: c-20260101, api: anthropic-messages, display_name: "C", aliases: [c],`},
	} {
		models, err := readProvider(dir, tt.s)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		write(&text, tt.s, models, "1")
		if !strings.Contains(text.String(), tt.want) {
			t.Errorf("got\n%s\nwant\n%s", text.String(), tt.want)
		}
	}
}
