package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// maxSecret bounds what a reference stands for, in bytes.
const maxSecret = 64 << 10

// Text is a text with references: ${env:NAME} stands for an environment variable, ${file:PATH}
// for the content of a file without the line break at its end, and $${ for the characters ${.
// What references stand for is read by [Text.Resolve] and never kept here, so that nothing that
// prints a configuration can show it.
type Text struct {
	written string
	file    string
	pos     strict.Pos
	path    string
}

// reference finds the beginnings of references, those that are escaped included.
var reference = regexp.MustCompile(`\$\$\{|\$\{([^}]*)(\})?`)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// UnmarshalNode implements strict.Unmarshaler. It checks the form of the references.
func (t *Text) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if !d.Into(n, &t.written, path) {
		return
	}
	t.file, t.pos, t.path = d.File(), n.Pos, path
	if _, err := t.expand(func(_, _ string) (string, error) { return "", nil }); err != nil {
		d.Fail(n, path, "%v", err)
	}
}

// JSONSchema implements strict.Schemer.
func (Text) JSONSchema() map[string]any { return map[string]any{"type": "string"} }

// ParseText returns a text that is not from a file of configuration. name stands for its place in
// errors.
func ParseText(name, written string) (Text, error) {
	t := Text{written: written, file: name}
	_, err := t.expand(func(_, _ string) (string, error) { return "", nil })
	return t, err
}

// String returns the text as it is written in the file.
func (t Text) String() string { return t.written }

// expand replaces each reference by its value.
func (t Text) expand(value func(kind, name string) (string, error)) (string, error) {
	var out strings.Builder
	at := 0
	for _, m := range reference.FindAllStringSubmatchIndex(t.written, -1) {
		out.WriteString(t.written[at:m[0]])
		at = m[1]
		if m[2] < 0 {
			out.WriteString("${")
			continue
		}
		kind, name, _ := strings.Cut(t.written[m[2]:m[3]], ":")
		switch {
		case m[4] < 0:
			return "", errors.New("a reference does not end (want ${env:NAME} or ${file:PATH}; write $${ for ${)")
		case kind == "env" && envName.MatchString(name):
		case kind == "file" && name != "" && !strings.ContainsRune(name, 0):
		default:
			return "", errors.New("is no valid reference (want ${env:NAME} or ${file:PATH}; write $${ for ${)")
		}
		v, err := value(kind, name)
		if err != nil {
			return "", err
		}
		out.WriteString(v)
	}
	out.WriteString(t.written[at:])
	return out.String(), nil
}

// Resolve returns the text with what its references stand for, and these values alone, which
// are secrets. path resolves paths of files. The error names the place in the configuration and
// what is missing, and tells no value. It wraps [ErrInvalid].
func (t Text) Resolve(path func(string) string) (text string, secrets []string, err error) {
	text, err = t.expand(func(kind, name string) (string, error) {
		var v string
		var err error
		if kind == "env" {
			v, err = readEnv(name)
		} else {
			v, err = readSecret(path(name))
		}
		secrets = append(secrets, v)
		return v, err
	})
	if err != nil {
		return "", nil, fmt.Errorf("%w: %w", ErrInvalid, strict.Problem{File: t.file, Pos: t.pos, Path: t.path, Message: err.Error()})
	}
	return text, secrets, nil
}

// Credentials resolves the key of a server and its headers. The error is that of the first text, in
// the order of names, whose reference stands for nothing; see [Text.Resolve].
func Credentials(key Text, headers map[string]Text, path func(string) string) (k string, h map[string]string, secrets []string, err error) {
	if k, secrets, err = key.Resolve(path); err != nil {
		return "", nil, nil, err
	}
	h = make(map[string]string, len(headers))
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		text, parts, err := headers[name].Resolve(path)
		if err != nil {
			return "", nil, nil, err
		}
		h[name], secrets = text, append(secrets, parts...)
	}
	return k, h, secrets, nil
}

func readEnv(name string) (string, error) {
	v, ok := os.LookupEnv(name)
	switch {
	case !ok:
		return "", fmt.Errorf("environment variable %s is not set", name)
	case v == "":
		return "", fmt.Errorf("environment variable %s is empty", name)
	}
	return v, checkSecret("environment variable "+name, v)
}

// readSecret reads a file. Only a regular one is opened, because others may block.
func readSecret(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("file %s: %w", file, errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("file %s: is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("file %s: %w", file, errors.Unwrap(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("file %s: cannot be read", file)
	}
	v := string(bytes.TrimSuffix(bytes.TrimSuffix(b, []byte("\n")), []byte("\r")))
	if v == "" {
		return "", fmt.Errorf("file %s: is empty", file)
	}
	return v, checkSecret("file "+file, v)
}

// checkSecret refuses what is not text. The error does not tell the value.
func checkSecret(what, v string) error {
	switch {
	case len(v) > maxSecret:
		return fmt.Errorf("%s: has more than %d bytes", what, maxSecret)
	case !utf8.ValidString(v) || strings.ContainsRune(v, 0):
		return fmt.Errorf("%s: is not text", what)
	}
	return nil
}
