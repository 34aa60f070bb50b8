package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmd-dev/llmd/internal/config"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "llmd.yaml")
	write(t, path, "server: {log_level: warn}\n")
	lookup := env("LLMD_CONFIG", path, "LLMD_LISTEN", "unix:///s")
	old, err := config.Load("", lookup)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "server: {log_level: debug}\nproviders: [{id: a}]\n")
	file, err := old.Reload(lookup)
	if err != nil || file.Server.LogLevel != "debug" || len(file.Providers) != 1 || file.Server.Listen[0].Network != "unix" {
		t.Fatalf("%+v, %v", file, err)
	}
	if file.Server.Instance != old.Server.Instance {
		t.Errorf("instance %q became %q", old.Server.Instance, file.Server.Instance)
	}
	if diff := cmp.Diff([]string{"server.log_level"}, file.Server.Changed(old.Server)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	write(t, path, "server:\n  log_levl: debug\n")
	if _, err := old.Reload(lookup); err == nil || !strings.HasPrefix(err.Error(), path+":2: server.log_levl: unknown key") {
		t.Errorf("a bad file: %v", err)
	}
	write(t, path, "")
	if _, err := old.Reload(lookup); err == nil || err.Error() != path+": has become empty; to configure nothing, write {}" {
		t.Errorf("an empty file: %v", err)
	}
	write(t, path, "{}")
	if file, err := old.Reload(lookup); err != nil || len(file.Providers) != 0 {
		t.Errorf("nothing configured: %+v, %v", file, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Reload(lookup); err == nil || err.Error() != path+": no such file or directory" {
		t.Errorf("no file: %v", err)
	}
	// A pipe would block, or be empty.
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Reload(lookup); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}

func TestReloadWithoutFile(t *testing.T) {
	old, err := config.Load("", env())
	if err != nil {
		t.Fatal(err)
	}
	file, err := old.Reload(env())
	if err != nil || file.Server.Changed(old.Server) != nil || len(file.Sources()) != 0 {
		t.Errorf("%+v, %v", file, err)
	}
}

func TestSources(t *testing.T) {
	f := parse(t, "providers:\n  - {id: a, api_key_file: /k, ca_file: /c}\n  - {id: b, api_key_file: /k}\n")
	if diff := cmp.Diff([]string{"llmd.yaml", "/k", "/c"}, f.Sources()); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// Every field of Server is a key of that name, so that Changed speaks of keys.
func TestChangedNamesKeys(t *testing.T) {
	var known []string
	for _, k := range config.Keys() {
		known = append(known, k.Path)
	}
	for i := range reflect.TypeFor[config.Server]().NumField() {
		var a, b config.Server
		differ(t, reflect.ValueOf(&b).Elem().Field(i))
		changed := a.Changed(b)
		if len(changed) != 1 || !slices.Contains(known, changed[0]) {
			t.Errorf("%s: changed %v", reflect.TypeFor[config.Server]().Field(i).Name, changed)
		}
	}
}

// differ gives a value that is not the zero value.
func differ(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint32:
		v.SetUint(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Struct:
		differ(t, v.Field(0))
	default:
		t.Fatalf("a field of kind %s", v.Kind())
	}
}
