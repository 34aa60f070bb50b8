package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/llmd-dev/llmd/adapters/jsonwire"
)

// NovaRoot are the keywords that the first generation of Nova takes at the top of a tool's
// schema; for others it answers "extraneous key [definitions] is not permitted". Its guide
// names the first three, the others are taken, too.
//
//   - https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html
//   - https://github.com/zed-industries/zed/issues/28521
//   - https://github.com/BerriAI/litellm/pull/10062
func NovaRoot() []string {
	return []string{"type", "properties", "required", "title", "additionalProperties"}
}

// Besides are the keywords at the top of a schema that are none of these.
func Besides(text string, kept []string) (others []string) {
	members, _ := jsonwire.Members([]byte(text)) // none if it is no object
	for _, m := range members {
		if !slices.Contains(kept, m.Key) {
			others = append(others, m.Key)
		}
	}
	return others
}

// maxInlined is how many references are replaced at most.
const maxInlined = 512

// Inlined is a schema without definitions: in the place of a reference stands what it
// refers to. A schema that refers to itself says nothing of what is within it, and neither
// does one that grows too long. Without definitions every byte stays.
func Inlined(text string) (inlined string, changed bool) {
	root := []byte(text)
	members, err := jsonwire.Members(root)
	if err != nil || len(text) > maxHoistedBytes || get(members, "$defs") == nil && get(members, "definitions") == nil && get(members, "$ref") == nil {
		return text, false
	}
	i := &inliner{root: root, places: map[string][]byte{}}
	return string(i.schema(root)), true
}

type inliner struct {
	root        []byte
	places      map[string][]byte // that were looked for
	open        []string          // that are being put in
	count, size int
}

func (i *inliner) schema(text []byte) []byte {
	members, err := jsonwire.Members(text)
	if err != nil {
		return text
	}
	var referred, own []jsonwire.Member
	for _, m := range members {
		switch m.Key {
		case "$ref":
			referred = append(referred, i.reference(m)...)
		case "$defs", "definitions":
			// Nothing refers to them any more.
		default:
			m.Value = within(m.Key, m.Value, i.schema)
			own = append(own, m)
		}
	}
	// What stands beside a reference is more to the point.
	referred = slices.DeleteFunc(referred, func(m jsonwire.Member) bool { return get(own, m.Key) != nil })
	return written(append(referred, own...))
}

// reference is what a reference refers to, or itself if that is elsewhere.
func (i *inliner) reference(ref jsonwire.Member) []jsonwire.Member {
	var place string
	if json.Unmarshal(ref.Value, &place) != nil || place != "#" && !strings.HasPrefix(place, "#/") {
		return []jsonwire.Member{ref}
	}
	if slices.Contains(i.open, place) || place == "#" || i.count == maxInlined {
		return nil
	}
	target, known := i.places[place]
	if !known {
		target = at(i.root, place)
		i.places[place] = target
	}
	i.count++
	if i.size += len(target); target == nil || i.size > maxHoistedBytes {
		return nil
	}
	i.open = append(i.open, place)
	members, _ := jsonwire.Members(i.schema(target)) // it is an object
	i.open = i.open[:len(i.open)-1]
	return members
}
