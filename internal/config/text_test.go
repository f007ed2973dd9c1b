package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// instanceOf reads an instance with a config value.
func instanceOf(t *testing.T, value string) (Text, error) {
	t.Helper()
	l, err := Parse("anchor.yaml", []byte("plugins:\n  instances:\n    i:\n      plugin: p\n      config:\n        key: "+value+"\n"))
	if err != nil {
		return Text{}, err
	}
	return l.Plugins.Instances["i"].Config["key"], nil
}

func TestTextResolves(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"key": "from a file\n", "dos": "x y\r\n", "two": "a\nb\n\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("REACH_KEY", "${env:HOME} $${ stays")
	for written, want := range map[string]string{
		"plain": "plain", "'$5 {x} $env'": "$5 {x} $env", "'${env:REACH_KEY}'": "${env:HOME} $${ stays",
		"'Bearer ${file:key}!'": "Bearer from a file!", "'${file:dos}'": "x y", "'${file:two}'": "a\nb\n", "'$${env:X}'": "${env:X}", "'$$${env:REACH_KEY}'": "$${env:REACH_KEY}",
	} {
		text, err := instanceOf(t, written)
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		got, secrets, err := text.Resolve(func(p string) string { return filepath.Join(dir, p) })
		if err != nil || got != want {
			t.Errorf("%s: %q, error %v (want %q)", written, got, err, want)
		}
		if strings.Contains(written, "${file:key}") && (len(secrets) != 1 || secrets[0] != "from a file") {
			t.Errorf("%s: secrets %q", written, secrets)
		}
	}
}

// A form that is not a reference is a mistake at its place.
func TestTextForms(t *testing.T) {
	for _, written := range []string{
		"'${KEY}'", "'${env:}'", "'${env:A B}'", "'${env:1A}'", "'${ENV:A}'", "'${file:}'", "'${'", "'x ${env:A'", "'${}'", "'${env:A-B}'", "'${cmd:ls}'",
	} {
		_, err := instanceOf(t, written)
		if err == nil || !strings.HasPrefix(err.Error(), "anchor.yaml:6:14: plugins.instances.i.config.key: ") || !strings.Contains(err.Error(), "write $${ for ${") {
			t.Errorf("%s: %v", written, err)
		}
	}
	for _, written := range []string{"5", "true", "[a]", "{a: b}"} {
		if _, err := instanceOf(t, written); err == nil || !strings.Contains(err.Error(), "want a string") {
			t.Errorf("%s: %v", written, err)
		}
	}
}

// What is missing is named with its place, and no value is told. Nothing blocks.
func TestTextMissing(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"empty": "\n", "binary": "hidden\xff", "zero": "hidden\x00", "large": "hidden" + strings.Repeat("x", maxSecret)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("REACH_EMPTY", "")
	t.Setenv("REACH_BINARY", "hidden\xff")
	for written, want := range map[string]string{
		"'${env:REACH_NONE}'": "environment variable REACH_NONE is not set", "'${env:REACH_EMPTY}'": "environment variable REACH_EMPTY is empty",
		"'${env:REACH_BINARY}'": "is not text", "'${file:gone}'": "gone: no such file", "'${file:.}'": "is not a regular file",
		"'${file:empty}'": "is empty", "'${file:binary}'": "is not text", "'${file:zero}'": "is not text", "'${file:large}'": "has more than 65536 bytes",
	} {
		text, err := instanceOf(t, written)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = text.Resolve(func(p string) string { return filepath.Join(dir, p) })
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "anchor.yaml:6:14: plugins.instances.i.config.key: ") || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v (want %s)", written, err, want)
		}
	}
}

// config show has no value of a header, and a reference as it is written.
func TestSettingsHideHeaders(t *testing.T) {
	t.Setenv("REACH_KEY", "sesame")
	l, err := Parse("f", []byte(`plugins:
  instances: {i: {plugin: p, config: {region: "${env:REACH_KEY}", api_key: sesame}, grants: {http: {hosts: [api.test], headers: {api.test: {X-Any: "sesame ${env:REACH_KEY}"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, s := range l.Settings() {
		shown[s.Path] = s.Text
		if strings.Contains(s.Text, "sesame") {
			t.Errorf("%s: %s", s.Path, s.Text)
		}
	}
	if shown["plugins.instances.i.config.region"] != "${env:REACH_KEY}" {
		t.Errorf("shown %q", shown)
	}
}
