package plugincmd

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/recording"
	"github.com/anchor-host/anchor-host/registry"
)

const (
	casesFolder  = "tests"
	settingsFile = "settings.json"
	httpFile     = "http.json"
	// maxCaseFile bounds a file of cases. Files that are written by hand have a few
	// kilobytes.
	maxCaseFile = recording.MaxFile
)

// moduleFile returns the module of a folder: plugin.wasm, or the only *.wasm in it or in the
// output folders of builds.
func moduleFile(path string) (string, error) {
	if isReference(path) {
		return "", fmt.Errorf("%s: is in a registry, want a file: %w (get it with: anchor-host plugin save %s --file FILE.wasm)", path, registry.ErrReference, path)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, nil // reading the file reports the error
	}
	if file := filepath.Join(path, "plugin.wasm"); isFile(file) {
		return file, nil
	}
	for _, sub := range []string{"", "build", "dist"} {
		dir := filepath.Join(path, sub)
		found, err := fs.Glob(os.DirFS(dir), "*.wasm")
		if err == nil && len(found) == 1 {
			return filepath.Join(dir, found[0]), nil
		} else if len(found) > 1 {
			return "", fmt.Errorf("%s: %d modules: %w (name one)", dir, len(found), spec.ErrDuplicate)
		}
	}
	return "", fmt.Errorf("%s: no *.wasm: %w (build the plugin first; of a folder of plugins name one)", path, fs.ErrNotExist)
}

// isReference reports whether a plugin is named by its place in a registry.
func isReference(target string) bool { return strings.HasPrefix(target, registry.Scheme) }

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// languageOf returns the language that the folder of a module names, or "".
func languageOf(path string) string {
	dir := filepath.Base(filepath.Dir(path))
	if slices.Contains(authoring.Languages(), dir) {
		return dir
	}
	return ""
}

// ownTests are the cases and settings that a plugin's author has written.
type ownTests struct {
	cases    []conformance.OwnCase
	settings map[abi.Operation]map[string]any
	// http answers the requests of all cases that do not list their own.
	http []conformance.Exchange
}

// similar are the responses of cases for requests of the same method and path, whatever their
// parameters are. They answer the requests of the kit if there is no list for all cases.
func (o *ownTests) similar() (list []conformance.Exchange) {
	for i := range o.cases {
		for _, e := range o.cases[i].HTTP {
			if e.Response.Error != "" || e.Response.Status >= 300 {
				continue
			}
			path, _, _ := strings.Cut(e.Request.URL, "?")
			e.Request = conformance.ExchangeRequest{Method: e.Request.Method, URL: path + "*"}
			list = append(list, e)
		}
	}
	return list
}

// ownCases reads the folder of cases: the given folder, or the folder tests next to the
// module or next to the plugin.yaml above it.
func ownCases(module, folder string) (own ownTests, err error) {
	given := folder != ""
	if !given {
		dir := filepath.Dir(module)
		for _, d := range []string{dir, filepath.Dir(dir)} {
			if isFile(filepath.Join(d, "plugin.yaml")) {
				folder = filepath.Join(d, casesFolder)
				break
			}
		}
	} else if _, err := os.Stat(folder); err != nil {
		return own, fmt.Errorf("flag --cases: %w", err)
	}
	names, err := fs.Glob(os.DirFS(folder), "*.json")
	if err != nil || folder == "" {
		return own, err
	}
	if given && len(names) == 0 {
		return own, fmt.Errorf("flag --cases: %s: %w: holds no *.json (name a folder of cases, as build --record DIR writes it)", folder, config.ErrInvalid)
	}
	for _, name := range names {
		file := filepath.Join(folder, name)
		if !isFile(file) { // the user did not name this file, and reading a pipe would wait
			return own, fmt.Errorf("%s: not a regular file (a folder of cases holds files only)", file)
		}
		b, err := readCaseFile(file)
		if err != nil {
			return own, err
		}
		switch filepath.Base(file) {
		case settingsFile:
			own.settings, err = parseSettings(file, b)
		case httpFile:
			if err = checkDocument(file, b, []conformance.Exchange{}); err == nil {
				own.http, err = conformance.ParseExchanges(file, b)
			}
		default:
			var cases []conformance.OwnCase
			if err = checkCases(file, b); err == nil {
				cases, err = conformance.ParseOwnCases(file, b)
			}
			own.cases = append(own.cases, cases...)
		}
		if err != nil {
			return own, fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
	}
	if own.http == nil {
		own.http = own.similar()
	}
	return own, nil
}

// only keeps the cases of one plugin and those of none, because the recording of a build has the
// calls of all its plugins. It returns how many it left out. If all are of others, the error names
// the plugins.
func (o *ownTests) only(plugin string) (leftOut int, err error) {
	var others []string
	before := len(o.cases)
	o.cases = slices.DeleteFunc(o.cases, func(c conformance.OwnCase) bool {
		other := c.Plugin != "" && c.Plugin != plugin
		if other && !slices.Contains(others, c.Plugin) {
			others = append(others, c.Plugin)
		}
		return other
	})
	if before > 0 && len(o.cases) == 0 {
		return before, fmt.Errorf("cases of plugin %q: %w (the folder has those of %.200q: name another with --cases)", plugin, fs.ErrNotExist, others)
	}
	return before - len(o.cases), nil
}

func readCaseFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCaseFile+1))
	if err == nil && len(b) > maxCaseFile {
		err = fmt.Errorf("%s: %w (at most %s)", file, host.ErrTooLarge, sizeText(maxCaseFile))
	}
	return b, err
}

// parseSettings reads settings by operation.
func parseSettings(name string, b []byte) (map[abi.Operation]map[string]any, error) {
	var out map[abi.Operation]map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("%s: settings: %w (want an object by operation, such as {\"filter\": {…}})", name, err)
	}
	for op := range out {
		if !op.Valid() {
			return nil, fmt.Errorf("%s: settings: %q is no operation (want an object by operation, such as {\"filter\": {…}})", name, op)
		}
	}
	return out, nil
}

// set puts the value of [OPERATION.]KEY=VALUE into the settings whose schemas have the key.
func set(out map[abi.Operation]map[string]any, spec *spec.Spec, pair string) error {
	key, text, ok := strings.Cut(pair, "=")
	if !ok || key == "" {
		return fmt.Errorf("want [OPERATION.]KEY=VALUE, got %q", pair)
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	var ops []abi.Operation
	if op, rest, found := strings.Cut(key, "."); found && abi.Operation(op).Valid() {
		ops, key = []abi.Operation{abi.Operation(op)}, rest
	} else {
		ops = namedBy(spec, key)
	}
	if len(ops) == 0 {
		return fmt.Errorf("plugin %q has no setting %q", spec.Name, key)
	}
	for _, op := range ops {
		if out[op] == nil {
			out[op] = map[string]any{}
		}
		out[op][key] = value
	}
	return nil
}

// namedBy lists the operations, including init, whose schemas have a setting.
func namedBy(spec *spec.Spec, key string) (ops []abi.Operation) {
	if spec.Manifest == nil {
		return nil
	}
	if names(spec.Manifest.Settings, key) {
		ops = append(ops, abi.OpInit)
	}
	for _, o := range spec.Operations {
		if names(spec.Manifest.Operations[o.Operation].Settings, key) {
			ops = append(ops, o.Operation)
		}
	}
	return ops
}

func names(schema json.RawMessage, key string) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil { // there is no schema
		return false
	}
	_, ok := s.Properties[key]
	return ok
}
