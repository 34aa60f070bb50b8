package turns

import "strings"

func toleratedByChat() []tolerated {
	apis := []string{"openai-completions"}
	return append(toleratedReasoning(apis), []tolerated{
		added("chat.store", "llmd says that nothing is to be kept, where nothing is known against it", apis, "false", "store"),
		added("chat.usage", "llmd asks for the usage", apis, `{"include_usage":true}`, "stream_options"),
		added("chat.not-strict", "llmd says what is the default", apis, "false", "tools[].function.strict"),
		leftOut("chat.not-strict-unsaid", "it is the default, and not all hosts know the word", apis, "false", "tools[].function.strict"),
		{
			name: "chat.limit-name", why: "the limit has two names; llmd uses the one of the host's profile",
			apis: apis, at: []string{""},
			mend: func(want, got *node) (*node, *node, bool) {
				const old, now = "max_tokens", "max_completion_tokens"
				for _, names := range [][2]string{{old, now}, {now, old}} {
					w, g := want.get(names[0]), got.get(names[1])
					if w != nil && g != nil && equal(w, g) && want.get(names[1]) == nil && got.get(names[0]) == nil {
						return want.with(names[0], nil), got.with(names[1], nil), true
					}
				}
				return nil, nil, false
			},
		},
		{
			name: "chat.developer", why: "models that reason take the system prompt from the developer",
			apis: apis, at: []string{"messages[].role"},
			mend: func(want, got *node) (*node, *node, bool) {
				return got, got, want.isString() && got.isString() && want.text == "system" && got.text == "developer"
			},
		},
		{
			name: "chat.no-content", why: "a content that is absent, empty or blank beside calls is null",
			apis: apis, at: []string{"messages[].content"},
			mend: func(want, got *node) (*node, *node, bool) {
				blank := want.none() || want.isString() && strings.TrimSpace(want.text) == ""
				return got, got, blank && got.isNull()
			},
		},
		{
			name: "chat.text-before-calls", why: "the client kept only the text between the calls; llmd sends all of it",
			apis: apis, at: []string{"messages[].content"},
			only: func(r *recording) bool { return r.name == "avian-kimi-k2.5-thinking-replay-cache-t2" },
			mend: func(want, got *node) (*node, *node, bool) {
				return got, got, want.isString() && want.text == " " && got.isString() && strings.HasSuffix(got.text, "  "+want.text)
			},
		},
	}...)
}

// toleratedReasoning are the differences in how thinking goes back, which is no part
// of the API that all hosts share.
func toleratedReasoning(apis []string) []tolerated {
	at := []string{"messages[]"}
	return []tolerated{
		{
			name: "chat.reasoning-twice", why: "the client sent one text by two names; llmd uses the one that the host used",
			apis: apis, at: at,
			mend: func(want, got *node) (*node, *node, bool) {
				for _, names := range [][2]string{{"reasoning", "reasoning_content"}, {"reasoning_content", "reasoning"}} {
					kept, dropped := want.get(names[0]), want.get(names[1])
					if kept != nil && dropped != nil && equal(kept, dropped) && got.get(names[0]) != nil && got.get(names[1]) == nil {
						return want.with(names[1], nil), got, true
					}
				}
				return nil, nil, false
			},
		},
		{
			name: "chat.reasoning-beside-details", why: "the client repeated beside reasoning_details what they say",
			apis: apis, at: at,
			mend: func(want, got *node) (*node, *node, bool) {
				r := want.get("reasoning")
				ok := r.isString() && got.get("reasoning") == nil && r.text == detailsText(want.get("reasoning_details"))
				return want.with("reasoning", nil), got, ok
			},
		},
		{
			name: "chat.details-for-field", why: "the host gave the thinking in both notations; the client sent the text back, llmd the details, which hold more",
			apis: apis, at: at,
			mend: func(want, got *node) (*node, *node, bool) {
				r, details := want.get("reasoning_content"), got.get("reasoning_details")
				ok := r.isString() && details != nil && want.get("reasoning_details") == nil && r.text == detailsText(details)
				return want.with("reasoning_content", nil), got.with("reasoning_details", nil), ok
			},
		},
		{
			name: "chat.details-id", why: "the client dropped the id of a summary; llmd sends all members that came",
			apis: apis, at: []string{"messages[].reasoning_details[].id"},
			mend: func(want, got *node) (*node, *node, bool) {
				return got, got, want == nil && got.isString() && strings.HasPrefix(got.text, "rs_")
			},
		},
		{
			name: "chat.think-tags", why: "the client sent the thinking as tagged text; llmd sends it in the field that it came in",
			apis: apis, at: at,
			mend: func(want, got *node) (*node, *node, bool) {
				r, content := got.get("reasoning"), want.get("content")
				ok := r.isString() && content.isString() && content.text == "<think>\n"+r.text+"\n</think>" && want.get("reasoning") == nil
				return want.with("content", nil), got.with("reasoning", nil), ok
			},
		},
	}
}

// detailsText is the readable text of reasoning_details.
func detailsText(details *node) string {
	var b strings.Builder
	for _, d := range details.list() {
		for _, key := range []string{"text", "summary"} {
			if t := d.get(key); t.isString() {
				b.WriteString(t.text)
			}
		}
	}
	return b.String()
}
