// Package dependencies finds the modules that Go packages are built from, and the
// licences they are under.
package dependencies

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Standard is the path of the standard library, which is under Go's own licence.
const Standard = "std"

// Module is something that packages are built from.
type Module struct {
	// Path is the module's, or Standard; Version is empty for that.
	Path, Version string
	// Direct says that the program itself imports it.
	Direct bool
	// Texts are its licences, notices and grants of patents, by their names.
	Texts []Text
}

// Text is one such file.
type Text struct {
	// Name is the file's, relative to the module, with slashes.
	Name string
	Data []byte
}

// Question is what to look at.
type Question struct {
	// Root is the folder of the main module.
	Root string
	// Packages are patterns of the go command; Tests adds what their tests import.
	Packages []string
	Tests    bool
	// Platforms are of the form linux/amd64.
	Platforms []string
}

// list is what the go command says of a package.
type list struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir string
		Main, Indirect     bool
		Replace            *struct{ Path, Version, Dir string }
	}
}

// Find lists the modules, by their paths. The main module is not among them.
func Find(ctx context.Context, q *Question) ([]Module, error) {
	found := map[string]*Module{}
	files := map[string]string{} // the absolute path of each text
	for _, platform := range q.Platforms {
		packages, err := goList(ctx, q, platform)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			if err := add(found, files, &p); err != nil {
				return nil, err
			}
		}
	}
	if len(found) == 0 {
		return nil, errors.New("dependencies: there are none; is this the right folder?")
	}
	if err := standard(ctx, q.Root, found); err != nil {
		return nil, err
	}
	var all []Module
	for _, m := range found {
		slices.SortFunc(m.Texts, func(a, b Text) int { return cmp.Compare(a.Name, b.Name) })
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b Module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

func goList(ctx context.Context, q *Question, platform string) ([]list, error) {
	system, machine, _ := strings.Cut(platform, "/")
	args := []string{"list", "-deps", "-json=Dir,Standard,Module"}
	if q.Tests {
		args = append(args, "-test")
	}
	cmd := exec.CommandContext(ctx, "go", append(args, q.Packages...)...)
	cmd.Dir = q.Root
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+machine, "CGO_ENABLED=0", "GOFLAGS=")
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("dependencies: %w\n%s", err, problem.Bytes())
	}
	var all []list
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p list
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// add takes a package: its module, and the texts in its folder and those above.
func add(found map[string]*Module, files map[string]string, p *list) error {
	if p.Standard || p.Module == nil || p.Module.Main {
		return nil
	}
	path, version, root := p.Module.Path, p.Module.Version, p.Module.Dir
	if r := p.Module.Replace; r != nil {
		version, root = strings.TrimSpace(r.Path+" "+r.Version), r.Dir
	}
	m := found[path]
	if m == nil {
		m = &Module{Path: path, Version: version, Direct: !p.Module.Indirect}
		found[path] = m
	}
	for dir := p.Dir; strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
		texts, err := textsIn(root, dir)
		if err != nil {
			return err
		}
		for _, t := range texts {
			if file := filepath.Join(root, t.Name); files[file] == "" {
				files[file] = path
				m.Texts = append(m.Texts, t)
			}
		}
	}
	return nil
}

// textsIn reads the texts of one folder.
func textsIn(root, dir string) ([]Text, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []Text
	for _, e := range entries {
		if e.IsDir() || !isText(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, Text{Name: filepath.ToSlash(name), Data: data})
	}
	return texts, nil
}

// isText says whether a file of this name is about rights.
func isText(name string) bool {
	name = strings.ToLower(name)
	switch filepath.Ext(name) {
	case "", ".txt", ".md", ".rst", ".mit", ".apache", ".bsd", ".libyaml":
	default:
		return false
	}
	return slices.ContainsFunc([]string{"license", "licence", "copying", "copyright", "notice", "patents", "unlicense"},
		func(word string) bool { return strings.HasPrefix(name, word) })
}

// standard adds the standard library, which every program has in it.
func standard(ctx context.Context, root string, found map[string]*Module) error {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	goroot := strings.TrimSpace(string(out))
	m := &Module{Path: Standard, Direct: true}
	for _, name := range []string{"LICENSE", "PATENTS"} {
		data, err := os.ReadFile(filepath.Join(goroot, name))
		if errors.Is(err, os.ErrNotExist) { // some distributions keep them elsewhere
			data, err = os.ReadFile(filepath.Join(goroot, "..", name))
		}
		if err != nil {
			return fmt.Errorf("dependencies: Go's own licence: %w", err)
		}
		m.Texts = append(m.Texts, Text{Name: name, Data: data})
	}
	found[Standard] = m
	return nil
}

// Platforms are those that releases are made for.
func Platforms() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}
}
