package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/anchor-host/anchor-host/internal/authoring"
)

// example is one plugin in one language.
type example struct {
	Language, Plugin string
	// Title is the language's name for people, Dir the folder of the source.
	Title, Dir string
}

// plugins are the plugins that exist in every language; WAT has only the first.
var plugins = []string{"keyword-filter", "lexical-rerank"}

// root is the folder of the sources.
const root = "plugins/examples/languages"

// examples lists the plugins of all languages. TinyGo shares the source of Go.
func examples() (list []example) {
	for _, t := range authoring.Toolchains {
		folder := t.Language
		if folder == "tinygo" {
			folder = "go"
		}
		for _, plugin := range plugins {
			dir := filepath.Join(root, folder, plugin)
			if _, err := os.Stat(dir); err == nil {
				list = append(list, example{Language: t.Language, Plugin: plugin, Title: t.Title, Dir: dir})
			}
		}
	}
	return list
}

// galleryRoot is the folder of the example plugins that exist in one language each.
const galleryRoot = "plugins/examples"

// gallery lists the example plugins that exist in one language other than Go. make plugins
// builds those in Go.
func gallery() (list []example, err error) {
	manifests, err := filepath.Glob(filepath.Join(galleryRoot, "*", authoring.ManifestFile))
	if err != nil {
		return nil, err
	}
	for _, m := range manifests {
		dir := filepath.Dir(m)
		if _, err := os.Stat(filepath.Join(dir, "main.go")); err == nil {
			continue
		}
		language, err := authoring.Detect(dir)
		if err != nil {
			return nil, err
		}
		toolchain, err := authoring.Lookup(language)
		if err != nil {
			return nil, err
		}
		list = append(list, example{Language: language, Plugin: filepath.Base(dir), Title: toolchain.Title, Dir: dir})
	}
	return list, nil
}

// module returns the path of the module of an example.
func (e example) module(out string) string {
	return filepath.Join(out, e.Language, e.Plugin+".wasm")
}

// timesFile is the file in which builds store how long they took, for the table.
const timesFile = "build-times.json"

// times has milliseconds by language/plugin.
type times map[string]int64

func readTimes(out string) times {
	t := times{}
	if b, err := os.ReadFile(filepath.Join(out, timesFile)); err == nil && json.Unmarshal(b, &t) != nil {
		t = times{}
	}
	return t
}

func (t times) write(out string) error {
	b, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, timesFile), append(b, '\n'), 0o600)
}

// buildAll builds the selected examples. It skips languages whose toolchain is missing. If a
// plugin does not build, it continues and returns an error at the end.
func buildAll(ctx context.Context, o *options, out, messages io.Writer) error {
	others, err := gallery()
	if err != nil {
		return err
	}
	took, failed := readTimes(o.Out), 0
	for _, e := range append(examples(), others...) {
		if !o.selected(e.Language) {
			continue
		}
		built, err := e.build(ctx, o.Out, messages)
		switch {
		case errors.Is(err, authoring.ErrMissing) && !o.CI:
			fmt.Fprintf(out, "%-8s %-20s skipped: %v\n", e.Language, e.Plugin, err)
		case err != nil:
			fmt.Fprintf(out, "%-8s %-20s FAILED: %v\n", e.Language, e.Plugin, err)
			failed++
		default:
			took[e.Language+"/"+e.Plugin] = built.Time.Milliseconds()
			fmt.Fprintf(out, "%-8s %-20s %8d bytes in %s\n", e.Language, e.Plugin, built.Spec.Size, built.Time.Round(10*time.Millisecond))
		}
	}
	err = took.write(o.Out)
	if failed > 0 {
		err = errors.Join(fmt.Errorf("%d plugins do not build", failed), err)
	}
	return err
}

func (e example) build(ctx context.Context, out string, messages io.Writer) (*authoring.Built, error) {
	path, err := filepath.Abs(e.module(out))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	return authoring.Build(ctx, authoring.BuildOptions{Dir: e.Dir, Output: path, Language: e.Language, Messages: messages})
}
