package dependencies

import (
	"os"
	"strings"
	"testing"
)

const mit = `Copyright (c) 2026 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`

const gpl = `This program is free software: you can redistribute it and/or modify it under
the terms of the GNU General Public License as published by the Free Software
Foundation, either version 3 of the License, or (at your option) any later version.
`

func TestLicences(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		texts []Text
		want  string // the licences, or a part of the error
	}{
		{"MIT", []Text{{"LICENSE", []byte(mit)}}, "MIT"},
		{"Apache, with a notice", []Text{{"LICENSE.txt", apache}, {"NOTICE", []byte("Copyright Somebody")}}, "Apache-2.0"},
		{"two, one of a folder", []Text{{"LICENSE", apache}, {"internal/x/LICENSE", []byte(mit)}}, "Apache-2.0 MIT"},
		{"twice the same", []Text{{"LICENSE", []byte(mit)}, {"x/COPYING", []byte(mit)}}, "MIT"},
		{"copyleft", []Text{{"LICENSE", []byte(gpl)}}, "example.com/m: LICENSE: GPL-3.0-or-later is not among the permissive licences"},
		{"copyleft in a folder", []Text{{"LICENSE", []byte(mit)}, {"x/COPYING", []byte(gpl)}}, "x/COPYING: GPL-3.0-or-later is not among"},
		{"words of its own", []Text{{"LICENSE", []byte("You may not use this on Sundays.")}}, "not those of a known licence"},
		{"a condition of its own", []Text{{"LICENSE", []byte(mit + strings.Repeat("You may not use this on Sundays. ", 30))}}, "not those of a known licence"},
		{"none", nil, "there is no licence"},
		{"a notice only", []Text{{"NOTICE", []byte(mit)}}, "there is no licence"},
	} {
		m := Module{Path: "example.com/m", Texts: tt.texts}
		names, err := m.Licences()
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != tt.want || err != nil && !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestIsText(t *testing.T) {
	for name, want := range map[string]bool{
		"LICENSE": true, "LICENCE.md": true, "License.txt": true, "COPYING": true, "NOTICE": true, "PATENTS": true,
		"LICENSE.libyaml": true, "license.go": false, "licenses.json": false, "README.md": false, "UNLICENSE": true,
	} {
		if isText(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestFind looks at this module itself: what is known of it by its go.mod.
func TestFind(t *testing.T) {
	all, err := Find(t.Context(), &Question{Root: "..", Packages: []string{"./dependencies"}, Platforms: []string{"linux/amd64", "darwin/arm64"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Path != "github.com/google/licensecheck" || all[1].Path != Standard {
		t.Fatalf("%v", all)
	}
	for _, m := range all {
		if names, err := m.Licences(); err != nil || len(names) != 1 || names[0] != "BSD-3-Clause" || !m.Direct {
			t.Errorf("%s: %v, %v, direct %v", m.Path, names, err, m.Direct)
		}
	}
	if all[0].Version != "v0.3.1" || len(all[0].Texts) != 1 {
		t.Errorf("%s %s has %d texts", all[0].Path, all[0].Version, len(all[0].Texts))
	}
}
