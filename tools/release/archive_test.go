package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
	"time"
)

// TestArchive: the order in which files are added does not show, and each is there
// with its mode and the commit's time.
func TestArchive(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	one, two := &archive{root: "x", time: at}, &archive{root: "x", time: at}
	one.add("b", []byte("text"), 0o644)
	one.add("a/program", []byte{0, 1, 2}, 0o755)
	two.add("a/program", []byte{0, 1, 2}, 0o755)
	two.add("b", []byte("text"), 0o644)
	first, err := one.bytes()
	if err != nil {
		t.Fatal(err)
	}
	second, err := two.bytes()
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("the archives differ: %v", err)
	}
	packed, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil || !packed.ModTime.IsZero() || packed.Name != "" {
		t.Fatalf("%v, %+v", err, packed)
	}
	want := []struct {
		name, data string
		mode       int64
	}{{"x/a/program", "\x00\x01\x02", 0o755}, {"x/b", "text", 0o644}}
	r := tar.NewReader(packed)
	for _, w := range want {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil || h.Name != w.name || string(data) != w.data || h.Mode != w.mode || !h.ModTime.Equal(at) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%+v %q %v, want %+v", h, data, err, w)
		}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("more files: %v", err)
	}
}
