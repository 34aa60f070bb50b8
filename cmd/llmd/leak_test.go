package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCommandsLeakNothing: no command prints a key, whatever goes wrong, and none
// repeats the prompt when it fails.
func TestCommandsLeakNothing(t *testing.T) {
	const key, prompt = "sk-s3cret-0123456789abcdef", "xyzzy-what-the-user-said"
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"Incorrect API key provided: `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+`","debug":"`+strings.ReplaceAll(string(body), `"`, ``)+`"}}`)
	}))
	defer host.Close()
	good := "providers:\n  - {id: lab, api: openai-completions, base_url: '" + host.URL + "', api_key: '${LAB}', proxy: none, headers: {X-Token: '${LAB}'}, allow_unlisted_models: true}\n"
	bad := []string{
		strings.Replace(good, "proxy: none", "proxy: '"+key+"'", 1), strings.Replace(good, "id: lab", "id: lab, nonsense: "+key, 1),
		strings.Replace(good, host.URL, "http://u:"+key+"@h", 1), "server: {auth: {tokens: [{name: a, sha256: " + key + "}]}}\n",
		strings.Replace(good, "${LAB}", "${"+key+"}", 1), "providers: [" + key,
	}
	show := func(what string, c *command, code, want int) {
		t.Helper()
		said := c.out.String() + c.err.String()
		if code != want {
			t.Errorf("%s: exit code %d\n%s", what, code, said)
		}
		if strings.Contains(said, key) || strings.Contains(said, prompt) {
			t.Errorf("%s shows a key or the prompt:\n%s", what, said)
		}
	}
	path := writeFile(t, "llmd.yaml", good)
	for _, c := range []struct {
		want int
		args []string
	}{
		{exitOK, []string{"check", "--config", path}},
		{exitOK, []string{"check", "--json", "--config", path}},
		{exitError, []string{"check", "--live", "--config", path}},
		{exitOK, []string{"models", "--config", path, "lab"}},
		{exitError, []string{"call", "--config", path, "lab/m", prompt}},
		{exitError, []string{"call", "--json", "--config", path, "lab/m", prompt}},
		{exitError, []string{"call", "--config", path, "nowhere/m", prompt}},
	} {
		cmd := newCommand(t.Context(), "", "LAB", key)
		show(strings.Join(c.args, " "), cmd, cmd.run(c.args...), c.want)
	}
	for _, text := range bad {
		for _, name := range []string{"check", "serve", "models"} {
			cmd := newCommand(t.Context(), "", "LAB", key)
			show(name+" with a bad file", cmd, cmd.run(name, "--config", writeFile(t, "bad.yaml", text)), exitUsage)
		}
	}
	// A variable that names no exporter is told by its name, not by its value.
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"} {
		t.Setenv(name, key)
		cmd := newCommand(t.Context(), "", "LAB", key, name, key)
		show("serve with a bad variable", cmd, cmd.run("serve", "--config", path), exitUsage)
	}
}
