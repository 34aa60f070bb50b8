package dependencies

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// permissive are the licences, by their SPDX names, that a dependency may be under:
// all let a program be given away under any terms, with their texts beside it.
var permissive = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "Zlib"}

// known is how much of a licence's file must be the words of licences, in percent.
// The rest is names, years and titles.
const known = 75

// Licences are the SPDX names of a module's licences. It is an error if there are
// none, if a text is not understood, or if one is not permissive.
func (m *Module) Licences() ([]string, error) {
	var names []string
	for _, t := range m.Texts {
		if !isLicence(t.Name) {
			continue // it goes along with the licence and takes nothing
		}
		found, err := licencesOf(t.Data)
		if err != nil {
			return nil, fmt.Errorf("dependencies: %s: %s: %w", m.Path, t.Name, err)
		}
		names = append(names, found...)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil, fmt.Errorf("dependencies: %s: there is no licence", m.Path)
	}
	return slices.Compact(names), nil
}

// isLicence tells licences from notices, names of authors and grants of patents.
func isLicence(name string) bool {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	return !slices.ContainsFunc([]string{"notice", "copyright", "patents"}, func(word string) bool { return strings.HasPrefix(name, word) })
}

func licencesOf(text []byte) ([]string, error) {
	coverage := licensecheck.Scan(text)
	var names []string
	for _, match := range coverage.Match {
		if match.IsURL {
			continue // a reference, as in Apache's own appendix
		}
		if !slices.Contains(permissive, match.ID) {
			return nil, fmt.Errorf("%s is not among the permissive licences %s", match.ID, strings.Join(permissive, ", "))
		}
		names = append(names, match.ID)
	}
	if len(names) == 0 || coverage.Percent < known {
		return nil, errors.New("its words are not those of a known licence")
	}
	return names, nil
}
