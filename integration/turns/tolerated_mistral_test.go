package turns

func toleratedByMistral() []tolerated {
	apis := []string{"mistral"}
	return []tolerated{
		added("mistral.prefix", "llmd says what is the default", apis, "false", "messages[].prefix"),
		added("mistral.not-strict", "llmd says what is the default", apis, "false", "tools[].function.strict"),
		added("mistral.call-index", "llmd says what is the default", apis, "0", "messages[].tool_calls[].index"),
		{
			name: "mistral.text-content", why: "a content of one text is a string or a list of one chunk",
			apis: apis, at: []string{"messages[].content"},
			mend: func(want, got *node) (*node, *node, bool) {
				text, ok := onlyTexts(got, "text")
				return got, got, ok && want.isString() && want.text == text
			},
		},
		{
			name: "mistral.result-name", why: "llmd names the tool of a result",
			apis: apis, at: []string{"messages[].name"},
			mend: func(want, got *node) (*node, *node, bool) { return got, got, want == nil && got.isString() },
		},
	}
}
