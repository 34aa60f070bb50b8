package schema

import "testing"

// TestFeatures: what OpenAI answered is in
// https://github.com/BerriAI/litellm/pull/40485, https://github.com/pleaseai/shunt/pull/488
// and https://github.com/tombii/better-ccflare/issues/357; what Python's engine reads is in
// https://docs.python.org/3/library/re.html.
func TestFeatures(t *testing.T) {
	for expression, want := range map[string]feature{
		``: 0, `^[a-z]+(?:\.[a-z]{2,})*$`: 0, `^\d{4}-\d\d$`: 0, `\/\-\_\(?=`: 0, `[(?=]\]`: 0, `[^\]](?i:x)`: 0, `\A\w\W\Z`: 0, `\x41\u0041`: 0, `[\b\1]`: 0, `(?P<year>x)`: 0,
		`(?=x)`: lookaround, `a(?!x)`: lookaround, `(?<=x)a`: lookaround, `((?<!x)a)`: lookaround,
		`\p{L}`: dialect, `[^\p{Cc}\P{L}]`: dialect, `(?<year>x)`: dialect, `\u{1F600}`: dialect, `\u00e`: dialect, `\x4`: dialect, `\cA`: dialect, `\z`: dialect, `[]`: dialect, `[^]`: dialect, `x\`: dialect, `[\A]`: dialect,
		// Python: "bad character range \w-.".
		`[\w-.]`: dialect, `[^+-\d]`: dialect, `[\x41-\s]`: dialect, `[\s\S-x]`: dialect, `[--\w]`: dialect,
		`[\w-]+`: 0, `[-\w]`: 0, `[\w.-]`: 0, `[a-z-\d]`: 0, `[\u0020-\u007e-\w]`: 0, `[\w\-.]`: 0, `[A-\]]\w-.`: 0, `[\w`: 0, `[\w-`: 0,
		`(a)\1`: backreference, `(?<n>a)\k<n>`: backreference | dialect, `\bx\B`: boundary, `\\b(?=\b)`: boundary | lookaround,
	} {
		if got := featuresOf(expression); got != want {
			t.Errorf("%s: %b, want %b", expression, got, want)
		}
	}
}

// TestEscapes: `^[^[]$` alone is refused by DeepSeek, and the same with that bracket escaped is
// not; `[\]` and \0 are of https://github.com/NangoHQ/nango/issues/7547 and
// https://github.com/zed-industries/zed/issues/64386.
func TestEscapes(t *testing.T) {
	for in, want := range map[string]string{
		`{"pattern":"^[^[]$"}`:                                   `{"pattern":"^[^\\[]$"}`,
		`{"pattern":"^[a,+~[\\]|@${}\"'\\\\/_ -]+[[]$"}`:         `{"pattern":"^[a,+~\\[\\]|@${}\"'\\\\/_ -]+[\\[]$"}`,
		`{"items":{"pattern":"^[^/\\\\\\0]+\\0$"}}`:              `{"items":{"pattern":"^[^/\\\\\\x00]+\\x00$"}}`,
		`{"patternProperties":{"[[]":{"pattern":"[[]"},"x":{}}}`: `{"patternProperties":{"[\\[]":{"pattern":"[\\[]"},"x":{}}}`,
		`{"pattern":"^(?!x)\\p{L}\\[[\\[]\\\\]$"}`:               "",
		`{"pattern":"\\"}`:                                       "",
	} {
		if want == "" {
			want = in
		}
		got, _ := Fit(in, DeepSeekDraft())
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		if again, had := Fit(got, DeepSeekDraft()); again != got || had != nil {
			t.Errorf("%s: again %s %v", got, again, had)
		}
	}
}
