package catalogtest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// recordedHosts says where the hosts of the recordings are, by the names that the
// recordings have for them: a provider that llmd knows, with what a user would write
// to it, or a URL alone. A host that is not here is one that llmd knows nothing of.
var recordedHosts = map[string]struct{ id, lines string }{
	"openai":         {id: "openai", lines: "api: openai-completions"},
	"xai":            {id: "xai", lines: "api: openai-completions"},
	"azure-openai":   {id: "azure", lines: "api: openai-completions, base_url: https://res.openai.azure.com/openai/v1"},
	"azure-foundry":  {id: "azure-foundry", lines: "api: openai-completions, base_url: https://res.services.ai.azure.com/models"},
	"llama-cpp":      {id: "llamacpp"},
	"vercel-gateway": {id: "vercel-ai-gateway"},
	"snowflake":      {id: "snowflake", lines: "api: openai-completions, base_url: https://a.snowflakecomputing.com/api/v2/cortex/v1"},
	"alibaba":        {id: "alibaba", lines: "api: openai-completions, base_url: https://dashscope.aliyuncs.com/compatible-mode/v1"},
	"ollama-cloud":   {id: "ollama-cloud", lines: "api: openai-completions, base_url: https://ollama.com/v1"},
}

// builtinHosts are the other hosts that llmd knows by the recordings' own names.
const builtinHosts = "cerebras cloudflare-ai-gateway cloudflare-workers-ai deepseek fireworks github-copilot github-models groq huggingface lmstudio " +
	"moonshotai nvidia ollama openrouter perplexity sglang together venice vllm zai"

// hostOf is the provider of a recording and its line in the configuration.
func (r *recorded) hostOf() (id, lines string) {
	if h, ok := recordedHosts[r.provider]; ok {
		return h.id, h.lines
	}
	if slices.Contains(strings.Fields(builtinHosts), r.provider) {
		return r.provider, ""
	}
	return r.provider, "api: openai-completions, base_url: https://" + r.provider + ".example.test/v1"
}

// configurationFor names the hosts of the recordings. Models keep what llmd knows of
// them; a model that it does not know thinks if it was asked to.
func configurationFor(all []*recorded) string {
	lines, models := map[string]string{}, map[string][]string{}
	for _, r := range all {
		id, l := r.hostOf()
		lines[id] = l
		if r.thinks() && !slices.Contains(models[id], r.Model) {
			models[id] = append(models[id], r.Model)
		}
	}
	var b strings.Builder
	b.WriteString("providers:\n")
	for id, l := range lines {
		if l != "" {
			l += ", "
		}
		fmt.Fprintf(&b, "  - {id: %s, %sapi_key: %skey, allow_unlisted_models: true, models: [", id, l, secret)
		for _, m := range models[id] {
			fmt.Fprintf(&b, "{id: %q, reasoning: true},", m)
		}
		b.WriteString("]}\n")
	}
	return b.String()
}

// difference is one between what was recorded and what llmd would send: a key that
// only one of them has, a role, or the path.
type difference struct{ what, recorded, llmd string }

// shapeOf is what llmd would send.
func (l *llmd) shapeOf(t *testing.T, r *recorded) (path string, keys, roles []string, err error) {
	t.Helper()
	id, _ := r.hostOf()
	p, err := l.PrepareContext(limited(t), &llmdv1.PrepareContextRequest{Generation: r.generation(t, id+"/"+r.Model)})
	if err != nil {
		return "", nil, nil, err
	}
	u, err := url.Parse(p.GetRequest().GetUrl())
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]json.RawMessage
	var chat chatBody
	if err := json.Unmarshal([]byte(p.GetRequest().GetBodyJson()), &body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(p.GetRequest().GetBodyJson()), &chat); err != nil {
		t.Fatal(err)
	}
	for k := range body {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return u.Path, keys, (&recorded{chatBody: chat}).roles(), nil
}

func (r *recorded) differences(path string, keys, roles []string) []difference {
	var all []difference
	for _, k := range r.keys {
		if !slices.Contains(keys, k) {
			all = append(all, difference{"key", k, ""})
		}
	}
	for _, k := range keys {
		if !slices.Contains(r.keys, k) {
			all = append(all, difference{"key", "", k})
		}
	}
	// A field under another name is one difference.
	for _, pair := range [][2]string{{"max_tokens", "max_completion_tokens"}, {"max_completion_tokens", "max_tokens"}, {"reasoning_effort", "reasoning"}} {
		old, own := difference{"key", pair[0], ""}, difference{"key", "", pair[1]}
		if slices.Contains(all, old) && slices.Contains(all, own) {
			all = slices.DeleteFunc(all, func(d difference) bool { return d == old || d == own })
			all = append(all, difference{"key", pair[0], pair[1]})
		}
	}
	if want := r.roles(); !slices.Equal(want, roles) {
		all = append(all, difference{"roles", strings.Join(want, " "), strings.Join(roles, " ")})
	}
	if r.known() && r.path != "" && r.path != path {
		all = append(all, difference{"path", r.path, path})
	}
	return all
}

// Each known host's profile gives the shape of the requests that its recordings
// show: the same keys, the same roles, at the same path.
func TestRecordedShapes(t *testing.T) {
	all := chatRecordings(t)
	l := start(t, configurationFor(all))
	used := map[string]int{}
	compared := 0
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			if why := r.incomparable(); why != "" {
				t.Skip(why)
			}
			path, keys, roles, err := l.shapeOf(t, r)
			if err != nil {
				t.Fatal(err)
			}
			compared++
			for _, d := range r.differences(path, keys, roles) {
				if name := toleratedAs(r, d); name != "" {
					used[name]++
					continue
				}
				t.Errorf("%s %s: recorded %q, llmd %q", r.provider, d.what, d.recorded, d.llmd)
			}
		})
	}
	t.Logf("%d of %d compared", compared, len(all))
	for _, tolerated := range toleratedDifferences() {
		t.Logf("%3d  %s", used[tolerated.name], tolerated.name)
	}
}
