// Package build builds the clients below examples/ outside the checkout, with the
// very commands that their READMEs tell a user to type.
//
// A README marks them with comments:
//
//	<!-- build -->
//	```console
//	$ npm ci
//	```
//
// and <!-- run --> marks the command that starts the client. Each client has a
// folder in the user's cache, so that a second build takes what the first one
// installed; it is skipped when nothing has changed.
package build

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Language is one client.
type Language struct {
	// Name is for people, Dir the folder below examples/.
	Name, Dir string
	// Needs are the programs it is built with.
	Needs []string
	// Lock is the file that pins its dependencies.
	Lock string
	// Stubs are where the generated files are, below the client's folder.
	Stubs []Stubs
}

// Stubs are files in one folder: both may be patterns.
type Stubs struct{ Folder, Files string }

// Languages are all clients.
func Languages() []Language {
	return []Language{
		{Name: "Go", Dir: "go", Needs: []string{"go"}},
		{
			Name: "Python", Dir: "python", Needs: []string{"python3"}, Lock: "requirements.txt",
			Stubs: []Stubs{{".", "llmd/v1/*.py"}, {".", "llmd/v1/*.pyi"}},
		},
		{
			Name: "Node", Dir: "node", Needs: []string{"node", "npm"}, Lock: "package-lock.json",
			Stubs: []Stubs{{"gen", "llmd/v1/*.ts"}},
		},
		{
			Name: "Java", Dir: "java", Needs: []string{"java", "mvn"}, Lock: "pom.xml",
			Stubs: []Stubs{{"target/generated-sources/protobuf/java", "dev/llmd/v1/*.java"}, {"target/generated-sources/protobuf/grpc-java", "dev/llmd/v1/*.java"}},
		},
		{
			Name: "Rust", Dir: "rust", Needs: []string{"cargo"}, Lock: "Cargo.lock",
			Stubs: []Stubs{{"target/debug/build/llmd-client-*/out", "llmd.v1.rs"}},
		},
		{
			Name: "C#", Dir: "csharp", Needs: []string{"python3"}, Lock: "stubs/requirements.txt",
			Stubs: []Stubs{{"obj/stubs", "*.g.cs"}},
		},
	}
}

// Missing is the first program that is not here, "" if all are.
func (l *Language) Missing() string {
	for _, program := range l.Needs {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// Built is a client that can be run.
type Built struct {
	// Dir is its folder outside the checkout, and where it runs.
	Dir string
	// Run is the command that starts it; empty where there are only stubs.
	Run []string
	// Fresh says that nothing had to be built.
	Fresh bool
	lock  *os.File
}

// Close lets others build this client.
func (b *Built) Close() { _ = b.lock.Close() }

// stamp is written after a build, with the digest of what was built.
const stamp = ".built"

// Build builds the client of the checkout at root. One process builds and runs a
// client at a time; Close ends its turn.
func (l *Language) Build(ctx context.Context, root string) (*Built, error) {
	from := filepath.Join(root, "examples", l.Dir)
	readme, err := os.ReadFile(filepath.Join(from, "README.md"))
	if err != nil {
		return nil, err
	}
	commands, start := Commands(string(readme), "build"), Commands(string(readme), "run")
	if len(commands) == 0 {
		return nil, errors.New("build: its README does not say how")
	}
	run, _, _ := strings.Cut(strings.Join(start, " "), " ask ")
	if l.Lock == "" { // Go is built where it is
		out := filepath.Join(os.TempDir(), "llmd-client-go-"+strconv.Itoa(os.Getpid()))
		if err := shell(ctx, from, strings.Replace(commands[0], "-o client", "-o "+out, 1)); err != nil {
			return nil, err
		}
		return &Built{Dir: root, Run: []string{out}}, nil
	}
	cache, err := l.cache(from)
	if err != nil {
		return nil, err
	}
	b := &Built{Dir: filepath.Join(cache, "examples", l.Dir), Run: strings.Fields(run)}
	if b.lock, err = locked(filepath.Join(cache, ".lock")); err != nil {
		return nil, err
	}
	if b.Fresh, err = l.build(ctx, root, cache, commands); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// cache is a folder for each version of the dependencies.
func (l *Language) cache(from string) (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		user = os.TempDir()
	}
	pins, err := os.ReadFile(filepath.Join(from, l.Lock))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(pins)
	dir := filepath.Join(user, "llmd-ci", "clients", l.Dir+"-"+hex.EncodeToString(sum[:6]))
	return dir, os.MkdirAll(dir, 0o700)
}

func (l *Language) build(ctx context.Context, root, cache string, commands []string) (fresh bool, err error) {
	digest := sha256.New()
	files, err := sources(root, l.Dir)
	if err != nil {
		return false, err
	}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return false, err
		}
		_, _ = fmt.Fprintf(digest, "%s %d\n%s", name, len(data), data)
		if err := write(filepath.Join(cache, name), data); err != nil {
			return false, err
		}
	}
	if err := tidy(cache, l.Dir, files); err != nil {
		return false, err
	}
	sum := []byte(hex.EncodeToString(digest.Sum(nil)))
	if done, err := os.ReadFile(filepath.Join(cache, stamp)); err == nil && bytes.Equal(done, sum) {
		return true, nil
	}
	for _, command := range commands {
		if err := shell(ctx, filepath.Join(cache, "examples", l.Dir), command); err != nil {
			return false, err
		}
	}
	return false, os.WriteFile(filepath.Join(cache, stamp), sum, 0o600)
}

// generated are the folders that building leaves in the client's own.
var generated = []string{"node_modules", "target", ".venv", "__pycache__", "gen", "dist", "llmd", "obj", "bin"}

// sources are the client's files and the contract's, relative to root.
func sources(root, dir string) ([]string, error) {
	var files []string
	for _, top := range []string{filepath.Join("examples", dir), filepath.Join("proto", "llmd")} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && filepath.Dir(path) == filepath.Join(root, "examples", dir) && slices.Contains(generated, d.Name()):
				return filepath.SkipDir
			case d.IsDir():
				return nil
			}
			name, err := filepath.Rel(root, path)
			files = append(files, name)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// tidy removes sources that are no more.
func tidy(cache, dir string, keep []string) error {
	have, err := sources(cache, dir)
	for _, name := range have {
		if !slices.Contains(keep, name) {
			err = errors.Join(err, os.Remove(filepath.Join(cache, name)))
		}
	}
	return err
}

// write leaves a file alone that is as it should be: compilers look at its time.
func write(path string, data []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// locked waits for the file's lock. Closing the file, or the end of the process,
// gives it back.
func locked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return f, syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

// shell runs a command as a user would.
func shell(ctx context.Context, dir, command string) error {
	cmd := exec.CommandContext(ctx, "nice", "sh", "-c", command)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build: %s: %w\n%s", command, err, out)
	}
	return nil
}

// Commands are the commands of the block that a Markdown text marks with a
// comment.
func Commands(text, mark string) []string {
	block := regexp.MustCompile("(?s)<!-- " + mark + " -->\n```console\n(.*?)```").FindStringSubmatch(text)
	if block == nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
			out = append(out, command)
		}
	}
	return out
}
