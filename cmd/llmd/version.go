package main

import (
	"fmt"
	"runtime/debug"
)

type versionCmd struct{}

// Run prints the version of the module, or of the commit it was built from.
func (versionCmd) Run(s *session) error {
	_, err := fmt.Fprintln(s.stdout, "llmd", version())
	return err
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "devel"
	}
	return info.Main.Version
}
