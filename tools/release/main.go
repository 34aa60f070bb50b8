// Command release builds what a release of llmd consists of:
//
//	go run ./release -root .. -out ../dist/release
//
//	llmd_VERSION_SYSTEM_MACHINE.tar.gz        the program, with all licences
//	llmd_VERSION_SYSTEM_MACHINE.cdx.json      its bill of materials (CycloneDX)
//	llmd-proto_VERSION.tar.gz                 the contract and its golden vectors
//	llmd_VERSION.binpb                        the contract as a descriptor set
//	checksums.txt                             SHA-256 of each, as sha256sum writes it
//
// The version is that of the tag or commit, as the go command stamps it. The same
// commit gives the same bytes, wherever and whenever it is built with the same Go:
// every time stamp is the commit's. The folder is emptied first.
//
// The bills of materials are made by cyclonedx-gomod, which must be in the PATH;
// -sbom=false does without.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmd-dev/llmd/tools/dependencies"
)

func main() {
	r := &release{}
	flag.StringVar(&r.root, "root", "..", "the checkout")
	flag.StringVar(&r.out, "out", "../dist/release", "folder to write to")
	platforms := flag.String("platforms", strings.Join(dependencies.Platforms(), ","), "system/machine to build for")
	flag.BoolVar(&r.sbom, "sbom", true, "write bills of materials")
	flag.Parse()
	r.platforms = strings.Split(*platforms, ",")
	if err := r.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is one run.
type release struct {
	root, out string
	platforms []string
	sbom      bool
	// version and time are those of the commit.
	version string
	time    time.Time
	made    []string
}

func (r *release) run(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "llmd-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	for _, platform := range r.platforms {
		if err := r.program(ctx, work, platform); err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if err := r.contract(); err != nil {
		return err
	}
	return r.checksums()
}

// prepare empties the folder and reads the commit's time.
func (r *release) prepare(ctx context.Context) error {
	var err error
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(r.out); err != nil {
		return err
	}
	text, err := r.command(ctx, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return err
	}
	r.time = time.Unix(seconds, 0).UTC()
	return errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755))
}

// command runs a program in the checkout and returns what it printed.
func (r *release) command(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), env...)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, problem.String())
	}
	return string(out), nil
}

// checksums writes the sums of all files, and their names to the output.
func (r *release) checksums() error {
	slices.Sort(r.made)
	var sums strings.Builder
	for _, name := range r.made {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		fmt.Fprintf(&sums, "%s  %s\n", hex.EncodeToString(sum[:]), name)
		fmt.Printf("%9d bytes  %s\n", len(data), filepath.Join(r.out, name))
	}
	return os.WriteFile(filepath.Join(r.out, "checksums.txt"), []byte(sums.String()), 0o644)
}
