package plugincmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/recording"
)

// keeper writes the requests of failed cases of one plugin as cases, which plugin call repeats.
type keeper struct {
	*tester
	module   string
	spec     *spec.Spec
	own      *ownTests
	settings map[abi.Operation]map[string]any
}

// keep writes the request of a failed case and returns the name of the file.
func (k *keeper) keep(r conformance.Result, document []byte) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			return c
		}
		return '-'
	}, fmt.Sprintf("%.100s", strings.Join(strings.Fields(fmt.Sprint(r.Case, " ", r.Operation, " ", r.Lane)), " ")))
	b, err := k.encode(r, document)
	if err == nil && k.flags.keep == "" {
		k.flags.keep, err = os.MkdirTemp("", "anchor-host-failed-")
	}
	if err == nil {
		err = os.MkdirAll(k.flags.keep, 0o755)
	}
	file := filepath.Join(k.flags.keep, name+".json")
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		k.app.Say("flag --keep: %v", err)
		return ""
	}
	return file
}

// encode is the case with its request as it was sent.
func (k *keeper) encode(r conformance.Result, document []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, err
	}
	c := conformance.OwnCase{Name: r.Case, Settings: map[string]any{}}
	if i := slices.IndexFunc(k.own.cases, func(c conformance.OwnCase) bool {
		return ownPrefix+c.Name == r.Case && (c.Operation == "" || c.Operation == r.Operation)
	}); i >= 0 {
		c = k.own.cases[i]
		c.Query, c.Items, c.TopK, c.TokensLeft = "", nil, 0, 0
	}
	c.Operation = r.Operation
	if c.Init == nil {
		c.Init = k.settings[abi.OpInit]
	}
	if c.HTTP == nil && !k.flags.live {
		c.HTTP = append([]conformance.Exchange{}, k.own.http...)
	}
	if raw, ok := members["settings"]; ok {
		c.Settings = nil
		if err := json.Unmarshal(raw, &c.Settings); err != nil {
			return nil, err
		}
		delete(members, "settings")
	}
	c.Settings = withoutSecrets(k.spec.Manifest.Operations[r.Operation].Settings, c.Settings)
	c.Init = withoutSecrets(k.spec.Manifest.Settings, c.Init)
	var err error
	if c.Request, err = json.Marshal(members); err != nil {
		return nil, err
	}
	return recording.Encode(&c)
}

// withoutSecrets are settings with asterisks in place of the texts that a schema marks as secrets.
func withoutSecrets(schema json.RawMessage, settings map[string]any) map[string]any {
	var s struct {
		Properties map[string]struct {
			WriteOnly bool `json:"writeOnly"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil { // there is none
		return settings
	}
	settings = maps.Clone(settings)
	for key, value := range settings {
		if _, text := value.(string); text && s.Properties[key].WriteOnly {
			settings[key] = record.Hidden
		}
	}
	return settings
}

// command is the command line that repeats a call, with the flags that matter to it.
func (k *keeper) command(op abi.Operation, file string) string {
	f := k.flags
	words := []string{"anchor-host", "plugin", "call", k.module, op.JSONExport(), "--request", file}
	for _, list := range []struct {
		flag   string
		values []string
	}{
		{"--config", f.config}, {"--allow-path", f.allowPath}, {"--allow-service", f.services}, {"--allow-host", f.allowHost}, {"--allow-method", f.allowMethod}, {"--timeout", given(f.timeout)}, {"--memory-max", given(f.memory)}, {"--load-time", given(f.loadTime)},
	} {
		for _, v := range list.values {
			words = append(words, list.flag, v)
		}
	}
	if f.fuel > 0 {
		words = append(words, "--fuel", fmt.Sprint(f.fuel))
	}
	if f.allowKV {
		words = append(words, "--allow-kv")
	}
	if f.allowPrivate {
		words = append(words, "--allow-private")
	}
	return shellLine(words)
}

// given is a list with a value, empty without it.
func given(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// shellPlain are the characters that mean themselves to a shell.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%"

// shellLine is a command line for a shell.
func shellLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.ContainsFunc(w, func(c rune) bool { return !strings.ContainsRune(shellPlain, c) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// recordCommand is the command that records the response to a request, such as "GET https://…".
func recordCommand(module string, s *spec.Spec, request string) string {
	_, address, _ := strings.Cut(request, " ")
	server := "SERVER"
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		if server = u.Host; u.Scheme != "https" {
			server = u.Scheme + "://" + u.Host
		}
	}
	export := "FUNCTION"
	for _, o := range s.Operations {
		if o.Operation != abi.OpInit {
			export = o.Operation.JSONExport()
			break
		}
	}
	return shellLine([]string{"anchor-host", "plugin", "call", module, export, "--input-file", "FILE", "--allow-host", server, "--record", casesFolder})
}
