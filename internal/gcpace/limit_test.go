package gcpace

import (
	"io/fs"
	"math"
	"runtime/debug"
	"syscall"
	"testing"
	"testing/fstest"
)

const none = math.MaxInt64

// The limits are nine tenths of the least one in force.
func TestMemoryLimit(t *testing.T) {
	type files map[string]string
	for name, c := range map[string]struct {
		files files
		want  int64
	}{
		"no control groups": {files{}, none},
		"version 2, a container that sees itself as the root": {
			files{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000000\n", "sys/fs/cgroup/memory.high": "max\n"}, 900_000,
		},
		"version 2, no limit": {
			files{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.high": "max\n"}, none,
		},
		"version 2, a unit of systemd, slowed down before it is ended": {
			files{
				"proc/self/cgroup": "0::/system.slice/llmd.service\n",
				"sys/fs/cgroup/system.slice/llmd.service/memory.max":  "9000\n",
				"sys/fs/cgroup/system.slice/llmd.service/memory.high": "7500\n",
			}, 6750,
		},
		"version 2, the limit of a group around it": {
			files{
				"proc/self/cgroup":                       "0::/kubepods/pod1/c1\n",
				"sys/fs/cgroup/kubepods/pod1/memory.max": "4000\n", "sys/fs/cgroup/kubepods/pod1/c1/memory.max": "max\n",
			}, 3600,
		},
		"version 1, by its path outside": {
			files{
				"proc/self/cgroup":                           "9:name=systemd:/\n4:cpu,memory:/docker/c1\n0::/\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n",
			}, 1800,
		},
		"version 1, of the machine": {
			files{
				"proc/self/cgroup": "4:memory:/x\n",
				"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			}, 900,
		},
		"a path that goes up": {files{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "1000"}, 900},
		"nonsense":            {files{"proc/self/cgroup": "0:\n\n::\n0::\n", "sys/fs/cgroup/memory.max": "-1\n"}, none},
	} {
		root := fstest.MapFS{}
		for file, text := range c.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, whole := memoryLimit(root); got != c.want || !whole {
			t.Errorf("%s: %d, %v, want %d", name, got, whole, c.want)
		}
	}
}

// Go keeps to the container's limit, also to another one that it gets, unless the
// environment has one; and it is let go at the end.
func TestStartLimits(t *testing.T) {
	const gib = 1 << 30
	group := func(limit string) fstest.MapFS {
		return fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/")}, "sys/fs/cgroup/memory.max": {Data: []byte(limit)}}
	}
	for _, c := range []struct {
		gogc, gomemlimit string
		want             int64
	}{{"", "", 9 * gib}, {"70", "", 9 * gib}, {"", "1GiB", none}, {"", "off", none}} {
		t.Setenv("GOGC", c.gogc)
		t.Setenv("GOMEMLIMIT", c.gomemlimit)
		stop := start(group("10737418240"))
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("GOGC=%s GOMEMLIMIT=%s: the limit is %d, want %d", c.gogc, c.gomemlimit, got, c.want)
		}
		stop()
		if got := debug.SetMemoryLimit(-1); got != none {
			t.Errorf("the limit is %d at the end", got)
		}
	}
	defer debug.SetMemoryLimit(none)
	p := &pacer{limit: none}
	for _, c := range []struct {
		limit string
		want  int64
	}{{"10737418240", 9 * gib}, {"21474836480", 18 * gib}, {"max", none}} {
		p.root = group(c.limit)
		p.setLimit()
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("the limit is %d after it has become %s, want %d", got, c.limit, c.want)
		}
	}
}

// filesLeft is a file system of a process that may open so many files more.
type filesLeft struct {
	fs.FS
	n int
}

func (f *filesLeft) Open(name string) (fs.File, error) {
	f.n--
	if f.n < 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EMFILE}
	}
	return f.FS.Open(name)
}

// A limit that cannot be read any more stays: a process with as many connections as it
// may have needs it most.
func TestLimitStaysUnread(t *testing.T) {
	root := fstest.MapFS{
		"proc/self/cgroup":           {Data: []byte("0::/a")},
		"sys/fs/cgroup/a/memory.max": {Data: []byte("20737418240")},
		"sys/fs/cgroup/memory.max":   {Data: []byte("10737418240")},
	}
	defer debug.SetMemoryLimit(none)
	p := &pacer{limit: none, root: root}
	p.setLimit()
	for n := range 5 {
		p.root = &filesLeft{root, n}
		p.setLimit()
		if got := debug.SetMemoryLimit(-1); got != 9<<30 {
			t.Errorf("the limit is %d when %d files could be opened", got, n)
		}
	}
}
