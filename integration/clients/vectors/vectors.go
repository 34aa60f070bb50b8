// Package vectors reads the golden vectors of proto/vectors, for the tests of the
// Go accumulator and of the clients in other languages.
package vectors

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// Vector is one stream and what it folds to.
type Vector struct {
	// Name is the file's, without its ending.
	Name string
	// Events is the stream. An event of a newer kind has no oneof set.
	Events []*llmdv1.StreamResponse
	// Message is what the events fold to; nil if the stream is broken.
	Message *llmdv1.AssistantMessage
}

// last is the last line of a file.
type last struct {
	Message json.RawMessage `json:"message"`
	Error   string          `json:"error"`
}

// Load reads all vectors of a folder, in the order of their names.
func Load(dir string) ([]Vector, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []Vector
	for _, file := range files {
		v, err := read(file)
		if err != nil {
			return nil, fmt.Errorf("vectors: %s: %w", file, err)
		}
		all = append(all, v)
	}
	return all, nil
}

func read(file string) (Vector, error) {
	v := Vector{Name: strings.TrimSuffix(filepath.Base(file), ".jsonl")}
	text, err := os.ReadFile(file)
	if err != nil {
		return v, err
	}
	var lines [][]byte
	for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
		lines = append(lines, bytes.Clone(s.Bytes()))
	}
	if len(lines) == 0 {
		return v, errors.New("it is empty")
	}
	future := protojson.UnmarshalOptions{DiscardUnknown: true}
	for _, line := range lines[:len(lines)-1] {
		e := &llmdv1.StreamResponse{}
		if err := future.Unmarshal(line, e); err != nil {
			return v, err
		}
		v.Events = append(v.Events, e)
	}
	var end last
	if err := json.Unmarshal(lines[len(lines)-1], &end); err != nil {
		return v, err
	}
	switch {
	case end.Message == nil && end.Error == "incomplete stream":
		return v, nil
	case end.Message == nil || end.Error != "":
		return v, errors.New("the last line has neither a message nor the error")
	}
	v.Message = &llmdv1.AssistantMessage{}
	return v, future.Unmarshal(end.Message, v.Message)
}
