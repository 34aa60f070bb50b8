package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
)

// maxFileBytes bounds the configuration file; a catalogue of every known model
// is a tenth of it.
const maxFileBytes = 8 << 20

// Load reads the configuration that holds for this process: the file at path, or
// at $LLMD_CONFIG if path is empty, or none; over it $LLMD_LISTEN (addresses,
// separated by commas) and $LLMD_LOG_LEVEL.
func Load(path string, env Env) (*File, error) {
	file, err := load(path, env)
	if err != nil {
		return nil, err
	}
	if file.Server.Instance == "" {
		file.Server.Instance = instanceName()
	}
	return file, nil
}

func load(path string, env Env) (*File, error) {
	if path == "" {
		path, _ = env("LLMD_CONFIG")
	}
	file := Default()
	if path != "" {
		text, err := readFile(path)
		if err != nil {
			return nil, err
		}
		if file, err = Parse(path, text, env); err != nil {
			return nil, err
		}
		file.Digest = sha256.Sum256(text)
	}
	before := file.Server.Listen
	if err := file.Server.override(env); err != nil {
		return nil, err
	}
	file.ListenByEnv = !slices.Equal(before, file.Server.Listen)
	return file, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &ParseError{File: path, Problem: cause(err)}
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, &ParseError{File: path, Problem: cause(err)}
	}
	if len(text) > maxFileBytes {
		return nil, &ParseError{File: path, Problem: "is larger than 8 MiB"}
	}
	return text, nil
}

// cause is an error of the file system without the path, which the message has.
func cause(err error) string {
	if e := (*os.PathError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// override lays the environment over the file.
func (s *Server) override(env Env) error {
	if list, ok := env("LLMD_LISTEN"); ok && list != "" {
		s.Listen = nil
		for text := range strings.SplitSeq(list, ",") {
			a, err := ShortAddress(strings.TrimSpace(text))
			if err != nil {
				return &ParseError{File: "environment", Key: "LLMD_LISTEN", Problem: err.Error()}
			}
			s.Listen = append(s.Listen, a)
		}
	}
	if level, ok := env("LLMD_LOG_LEVEL"); ok && level != "" {
		level = strings.ToLower(level)
		if !slices.Contains([]string{"debug", "info", "warn", "error"}, level) {
			return &ParseError{File: "environment", Key: "LLMD_LOG_LEVEL", Problem: "must be one of: debug, info, warn, error"}
		}
		s.LogLevel = level
	}
	return nil
}

// instanceName tells this process from another one on the same host.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "llmd"
	}
	var suffix [4]byte
	_, _ = rand.Read(suffix[:]) // never fails
	return host + "-" + hex.EncodeToString(suffix[:])
}
