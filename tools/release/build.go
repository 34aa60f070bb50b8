package main

import (
	"context"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/llmd-dev/llmd/tools/dependencies"
)

// program builds llmd for one platform and packs it.
func (r *release) program(ctx context.Context, work, platform string) error {
	system, machine, ok := strings.Cut(platform, "/")
	if !ok {
		return errors.New("want system/machine")
	}
	env := []string{"GOOS=" + system, "GOARCH=" + machine, "CGO_ENABLED=0", "GOFLAGS="}
	file := filepath.Join(work, "llmd")
	if _, err := r.command(ctx, env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", file, "./cmd/llmd"); err != nil {
		return err
	}
	if err := static(file, system); err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	if r.version != "" && r.version != info.Main.Version {
		return fmt.Errorf("the checkout has changed meanwhile: %s, before %s", info.Main.Version, r.version)
	}
	r.version = info.Main.Version
	name := "llmd_" + r.version + "_" + system + "_" + machine
	a, err := r.pack(name, platform, file)
	if err != nil {
		return err
	}
	if err := r.write(name+".tar.gz", a); err != nil || !r.sbom {
		return err
	}
	return r.materials(ctx, env, name+".cdx.json")
}

// static makes sure that a program for Linux asks for no library of the system it
// runs on. On macOS every program uses the system's own.
func static(file, system string) error {
	if system != "linux" {
		return nil
	}
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	needs, err := f.ImportedLibraries()
	if err == nil && len(needs) > 0 {
		err = fmt.Errorf("the program needs %s", strings.Join(needs, ", "))
	}
	return err
}

// pack puts the program, the licences of all that is in it, and the README into an
// archive.
func (r *release) pack(name, platform, file string) (*archive, error) {
	a := &archive{root: name, time: r.time}
	if err := a.addFile("llmd", file, 0o755); err != nil {
		return nil, err
	}
	for _, own := range []string{"LICENSE", "NOTICE", "README.md"} {
		if err := a.addFile(own, filepath.Join(r.root, own), 0o644); err != nil {
			return nil, err
		}
	}
	modules, err := dependencies.Find(context.Background(), &dependencies.Question{
		Root: r.root, Packages: []string{"./cmd/llmd"}, Platforms: []string{platform},
	})
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		if _, err := m.Licences(); err != nil {
			return nil, err
		}
		for _, t := range m.Texts {
			a.add("licences/"+m.Path+"/"+t.Name, t.Data, 0o644)
		}
	}
	return a, nil
}

// materials writes the bill of materials of the program just built.
func (r *release) materials(ctx context.Context, env []string, name string) error {
	if _, err := exec.LookPath("cyclonedx-gomod"); err != nil {
		return err
	}
	_, err := r.command(ctx, env, "cyclonedx-gomod", "app", "-json", "-licenses", "-std", "-noserial", "-notimestamp",
		"-main", "cmd/llmd", "-output", filepath.Join(r.out, name), ".")
	r.made = append(r.made, name)
	return err
}

// contract packs the proto files with the vectors, and copies the descriptor set.
func (r *release) contract() error {
	name := "llmd-proto_" + r.version
	a := &archive{root: name, time: r.time}
	for _, pattern := range []string{"LICENSE", "buf.yaml", "proto/llmd/*/*.proto", "proto/vectors/*"} {
		files, err := filepath.Glob(filepath.Join(r.root, filepath.FromSlash(pattern)))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return errors.New("there is no " + pattern)
		}
		for _, file := range files {
			inside, err := filepath.Rel(r.root, file)
			if err != nil {
				return err
			}
			if err := a.addFile(filepath.ToSlash(inside), file, 0o644); err != nil {
				return err
			}
		}
	}
	if err := r.write(name+".tar.gz", a); err != nil {
		return err
	}
	set, err := os.ReadFile(filepath.Join(r.root, "gen", "llmd.binpb"))
	if err != nil {
		return err
	}
	name = "llmd_" + r.version + ".binpb"
	r.made = append(r.made, name)
	return os.WriteFile(filepath.Join(r.out, name), set, 0o644)
}

func (r *release) write(name string, a *archive) error {
	data, err := a.bytes()
	if err != nil {
		return err
	}
	r.made = append(r.made, name)
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
