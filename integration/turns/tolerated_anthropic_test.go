package turns

import "strings"

func toleratedByAnthropic() []tolerated {
	apis := []string{"anthropic-messages"}
	return []tolerated{
		added("anthropic.eager-input", "llmd asks for arguments as they are written (fine-grained tool streaming)",
			apis, "true", "tools[].eager_input_streaming"),
		added("anthropic.is-error", "llmd says that a tool did not fail; it is the default",
			apis, "false", "messages[].content[].is_error"),
		leftOut("anthropic.parallel", "parallel calls are the default of the API",
			apis, "false", "tool_choice.disable_parallel_tool_use"),
		added("anthropic.caller", "the client left out who called the server tool; llmd sends blocks of the API's own as they came",
			apis, `{"type":"direct"}`, "messages[].content[].caller"),
		{
			name: "anthropic.result-text", why: "a result of texts is one string, which the API takes as a text block",
			apis: apis, at: []string{"messages[].content[].content"},
			mend: func(want, got *node) (*node, *node, bool) {
				text, ok := onlyTexts(want, "text")
				return got, got, ok && got.isString() && got.text == text
			},
		},
		{
			name: "anthropic.see-image", why: "llmd puts a word before a result that is an image alone",
			apis: apis, at: []string{"messages[].content[].content"},
			mend: func(want, got *node) (*node, *node, bool) {
				if len(want.list()) == 0 || len(got.list()) != len(want.list())+1 || got.items[0].get("type").text != "text" {
					return nil, nil, false
				}
				return want, array(got.items[1:]...), got.items[0].get("text").text == "(see attached image)"
			},
		},
	}
}

// onlyTexts joins the texts of a list that has nothing else; kind is the type of
// such parts.
func onlyTexts(list *node, kind string) (string, bool) {
	var texts []string
	for _, p := range list.list() {
		if p.get("type") == nil || p.get("type").text != kind || !p.get("text").isString() {
			return "", false
		}
		texts = append(texts, p.get("text").text)
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}
