package turns

func toleratedByBedrock() []tolerated {
	apis := []string{"bedrock-converse-stream"}
	return []tolerated{
		added("bedrock.status", "llmd says that a tool did not fail; it is the default",
			apis, `"success"`, "messages[].content[].toolResult.status"),
		{
			name: "bedrock.result-json", why: "a result is text in the contract: the text of the JSON value says the same",
			apis: apis, at: []string{"messages[].content[].toolResult.content[]"},
			mend: func(want, got *node) (*node, *node, bool) {
				value, text := want.get("json"), got.get("text")
				if value == nil || !text.isString() {
					return nil, nil, false
				}
				said, err := parse([]byte(text.text))
				return got, got, err == nil && equal(value, said)
			},
		},
	}
}
