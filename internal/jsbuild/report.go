package jsbuild

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/anchor-host/anchor-host/internal/plain"
)

// mostReported is how many messages an error has.
const mostReported = 5

var unresolved = regexp.MustCompile(`^Could not resolve "(.*)"$`)

// reported makes an error of messages. Each names its place and the remedy.
func (o *Options) reported(messages []api.Message) error {
	var lines []string
	for _, m := range messages[:min(mostReported, len(messages))] {
		place := o.Entry
		if l := m.Location; l != nil {
			place = fmt.Sprintf("%s:%d:%d", l.File, l.Line, l.Column+1)
		}
		lines = append(lines, plain.Line(place+": "+remedied(m)))
	}
	if more := len(messages) - mostReported; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// remedied is what a message says, with a remedy that fits a plugin.
func remedied(m api.Message) string {
	if found := unresolved.FindStringSubmatch(m.Text); found != nil {
		name, notes := found[1], ""
		for _, n := range m.Notes {
			notes += n.Text
		}
		switch {
		case strings.HasPrefix(name, "node:") || strings.Contains(notes, "built into node"):
			return fmt.Sprintf("%q is a module of Node.js, which a plugin does not have (the functions of host send requests and keep values; choose a package that also runs in browsers)", name)
		case strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/"):
			return fmt.Sprintf("there is no file %q (write its path relative to this file)", name)
		case notes != "" && !strings.Contains(notes, "mark the path"):
			return fmt.Sprintf("%q cannot be imported: %s", name, notes)
		}
		return fmt.Sprintf("the package %q is not in node_modules (run: npm install %s)", name, packageOf(name))
	}
	switch {
	case strings.HasPrefix(m.Text, "Top-level await"):
		return "await stands outside of a function (put it into export async function init, which runs once before all calls)"
	case strings.Contains(m.Text, "JSX syntax"):
		return "has JSX, which no plugin needs (write texts as `…`)"
	case strings.HasPrefix(m.Text, "No loader is configured"):
		return "this kind of file cannot be imported (there are .js, .ts, .mjs, .json, .txt and .wasm)"
	}
	note := ""
	if len(m.Notes) > 0 {
		note = " (" + m.Notes[0].Text + ")"
	}
	return cmp.Or(m.Text, "cannot be read") + note
}

// packageOf is the name of the package that an import names.
func packageOf(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}
