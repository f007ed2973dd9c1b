package jsbuild

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
)

// operations are the names that an export may have.
var operations = func() (names []string) {
	for _, o := range abi.Operations {
		names = append(names, string(o.Op))
	}
	return names
}()

// hostName is the global of scripts that has the functions of the host. esbuild knows which uses of
// the name are the global, and gives them another name, which is then found in what it writes.
const (
	hostName  = "host"
	hostAlias = "__anchorHost__"
)

// services are the functions of the global host, and the letters of what they call.
var services = map[string]string{
	"http": "RSH", "httpBatch": "M", "kvGet": "G", "kvGetBytes": "G", "kvSet": "P", "kvDelete": "P", "countTokens": "K",
	"embed": "E", "search": "F", "llm": "N", "llmBatch": "N",
}

// permitted are the functions of the host that need a permission, by its word.
var permitted = map[string][]string{
	"http": {"http", "httpBatch"}, "kv": {"kvGet", "kvGetBytes", "kvSet", "kvDelete"}, "count_tokens": {"countTokens"},
	"embed": {"embed"}, "search": {"search"}, "llm": {"llm", "llmBatch"},
}

// splitExports cuts the list of exports from the end of a module, and returns the name that each has
// inside of it.
func splitExports(module string) (body string, locals map[string]string, err error) {
	const begin, end = "\nexport {", "};"
	at := strings.LastIndex("\n"+module, begin)
	if at < 0 {
		return module, nil, nil
	}
	list, rest, ok := strings.Cut(module[at+len(begin)-1:], end)
	if !ok || strings.TrimSpace(rest) != "" {
		return "", nil, errors.New("the bundle does not end with its exports")
	}
	locals = map[string]string{}
	for entry := range strings.SplitSeq(list, ",") {
		local, name, renamed := strings.Cut(strings.TrimSpace(entry), " as ")
		if !renamed {
			name = local
		}
		locals[name] = local
	}
	return module[:at], locals, nil
}

// noOperation says what to write if nothing that is exported is an operation.
func (o *Options) noOperation(locals map[string]string, metafile string) error {
	var meta struct {
		Inputs map[string]struct{ Format string }
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return fmt.Errorf("what esbuild says of the bundle: %w", err)
	}
	if meta.Inputs[o.Entry].Format == "cjs" {
		return fmt.Errorf("%s: is a module of Node.js (write export function filter(request, settings) { … } in place of module.exports and require)", o.Entry)
	}
	names := cmp.Or(strings.Join(slices.Sorted(maps.Keys(locals)), ", "), "nothing")
	return fmt.Errorf("%s: exports %s, which is no operation (write: export function filter(request, settings) { … }; there are %s)",
		o.Entry, names, strings.Join(operations, ", "))
}

// hostUse matches a use of the host's functions in a bundle, and the name of the function if one follows.
var hostUse = regexp.MustCompile(`\b` + hostAlias + `\b(?:\s*\??\.\s*([\p{L}_$][\p{L}\p{Nd}_$]*))?`)

// services returns the letters of what a bundle calls. A bundle that does more with the host than
// to call a function by its name gets all functions that the manifest asks for.
func (o *Options) services(body string, rows *Trace) (string, error) {
	var used []string
	for _, m := range hostUse.FindAllStringSubmatchIndex(body, -1) {
		if m[2] < 0 {
			for _, word := range o.Permissions {
				used = append(used, permitted[word]...)
			}
			continue
		}
		name := body[m[2]:m[3]]
		if services[name] == "" {
			file, line := rows.at(body, m[0])
			return "", fmt.Errorf("%s:%d: host.%s does not exist (there are host.%s)", file, line, name, strings.Join(slices.Sorted(maps.Keys(services)), ", host."))
		}
		used = append(used, name)
	}
	if strings.Contains(body, "anchorRuntime.sleep") {
		used = append(used, "sleep")
	}
	letters := ""
	for _, l := range "RSHMGPKEFNZ" {
		if slices.ContainsFunc(used, func(name string) bool { return strings.ContainsRune(services[name], l) || name == "sleep" && l == 'Z' }) {
			letters += string(l)
		}
	}
	return letters, nil
}
