package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/llmd-dev/llmd/service"
)

type versionCmd struct{}

// Run prints what this program was built from and what it speaks.
func (versionCmd) Run(s *session) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return printVersion(s.stdout, info, service.APIs())
}

func printVersion(out io.Writer, info *debug.BuildInfo, apis []string) error {
	_, err := fmt.Fprintf(out, "llmd %s\ncommit: %s\ngo: %s %s/%s\ncontract: llmd.v1\nwire APIs: %s\n",
		versionOf(info), commitOf(info), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(apis, ", "))
	return err
}

// version is the version of the module, or of the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// commitOf is the commit with its time, as the go command stamps them into what it
// builds from a checkout.
func commitOf(info *debug.BuildInfo) string {
	stamped := map[string]string{}
	for _, s := range info.Settings {
		stamped[s.Key] = s.Value
	}
	commit := stamped["vcs.revision"]
	if commit == "" {
		return "unknown"
	}
	if at := stamped["vcs.time"]; at != "" {
		commit += ", " + at
	}
	if stamped["vcs.modified"] == "true" {
		commit += ", with changes"
	}
	return commit
}
