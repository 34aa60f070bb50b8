package gcpace

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	// margin of the container's limit that Go may not fill, one part in so many: the
	// program itself and the kernel's buffers of sockets count towards the limit, too.
	// See https://go.dev/doc/gc-guide#Suggested_uses.
	margin = 10
	// relook is after how many looks the limit is read again: that of a running
	// container can be changed.
	relook = 30
	// unlimited is more than any machine has; version 1 says almost 1<<63 for none.
	unlimited = 1 << 60
)

// memoryLimit is how much Go should use where the control group that the process is in,
// or one around it, limits memory; math.MaxInt64 = none does. root is the file system's.
// whole: all that is there could be read.
//
// See https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files and
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html.
func memoryLimit(root fs.FS) (limit int64, whole bool) {
	r := &limits{root: root, least: math.MaxInt64}
	groups := r.read("proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path; those of version 2 have no controllers here.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			// Beyond high the process is not ended but slowed down, which is no better.
			r.of("sys/fs/cgroup", parts[2], "memory.max", "memory.high")
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			r.of("sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes")
		}
	}
	if r.least == math.MaxInt64 {
		return r.least, !r.failed
	}
	return r.least - r.least/margin, !r.failed
}

// limits reads the files of control groups.
type limits struct {
	root   fs.FS
	least  int64 // so far
	failed bool  // a file that is there could not be read
}

// of takes the least limit in the files of a group and of those around it. A container
// may see itself as the root and yet know its path outside: then there is no such folder
// but the root's.
func (r *limits) of(mount, group string, files ...string) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		for _, file := range files {
			r.take(r.read(path.Join(mount, group, file)))
		}
		if group == "/" {
			return
		}
	}
}

// take takes a number that limits anything.
func (r *limits) take(text []byte) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err == nil && n > 0 && n < unlimited { // version 2 says max
		r.least = min(r.least, n)
	}
}

// read is empty where there is no file, or none for this process.
func (r *limits) read(file string) []byte {
	text, err := fs.ReadFile(r.root, file)
	if err != nil {
		r.failed = r.failed || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrInvalid)
		return nil
	}
	return text
}
