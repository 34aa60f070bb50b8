package gcpace

import (
	"bytes"
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
//
// See https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files and
// https://docs.kernel.org/admin-guide/cgroup-v1/memory.html.
func memoryLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return math.MaxInt64
	}
	least := int64(math.MaxInt64)
	for line := range strings.Lines(string(groups)) {
		// hierarchy:controllers:path; those of version 2 have no controllers here.
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[0] == "0" && parts[1] == "":
			// Beyond high the process is not ended but slowed down, which is no better.
			least = min(least, leastOf(root, "sys/fs/cgroup", parts[2], "memory.max", "memory.high"))
		case slices.Contains(strings.Split(parts[1], ","), "memory"):
			least = min(least, leastOf(root, "sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	if least == math.MaxInt64 {
		return least
	}
	return least - least/margin
}

// leastOf is the least limit in the files of a group and of those around it. A container
// may see itself as the root and yet know its path outside: then there is no such folder
// but the root's.
func leastOf(root fs.FS, mount, group string, files ...string) int64 {
	least := int64(math.MaxInt64)
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		for _, file := range files {
			least = min(least, limitIn(root, path.Join(mount, group, file)))
		}
		if group == "/" {
			return least
		}
	}
}

// limitIn is the number in a file; math.MaxInt64 = it has none that limits anything.
func limitIn(root fs.FS, file string) int64 {
	text, err := fs.ReadFile(root, file)
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil || n <= 0 || n >= unlimited { // version 2 says max
		return math.MaxInt64
	}
	return n
}
