package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"os"
	"slices"
	"time"
)

// archive is a tar.gz whose bytes depend on nothing but its files: they are in the
// order of their names, belong to nobody and have one time.
type archive struct {
	root  string
	time  time.Time
	files []entry
}

type entry struct {
	name string
	data []byte
	mode int64
}

func (a *archive) add(name string, data []byte, mode int64) {
	a.files = append(a.files, entry{a.root + "/" + name, data, mode})
}

func (a *archive) addFile(name, file string, mode int64) error {
	data, err := os.ReadFile(file)
	if err == nil {
		a.add(name, data, mode)
	}
	return err
}

func (a *archive) bytes() ([]byte, error) {
	slices.SortFunc(a.files, func(x, y entry) int { return cmp.Compare(x.name, y.name) })
	var out bytes.Buffer
	packed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(packed)
	for _, f := range a.files {
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: f.mode, ModTime: a.time, Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = packed.Close()
	return out.Bytes(), err
}
