package plugincmd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
)

// single prepares the input of an operation of this contract as a build would send it: with the
// settings of flags and their defaults, and only with the columns that the manifest reads. It
// returns nil for everything else: other functions, foreign modules, and a call without input.
// name is the file of the input, for errors.
func single(a *cli.App, s *spec.Spec, settings map[abi.Operation]map[string]any, function, name string, input []byte) (*conformance.Single, error) {
	op := abi.Operation(strings.TrimPrefix(function, "anchor_"))
	if _, err := s.Operation(op); s.Foreign || op.JSONExport() != function || op == abi.OpInit || err != nil {
		return nil, nil
	}
	if len(input) == 0 {
		if len(settings[op]) > 0 {
			return nil, fmt.Errorf("flag --set: %q of %s needs a request (give one with --input-file)", slices.Sorted(maps.Keys(settings[op]))[0], function)
		}
		return nil, nil
	}
	if name == "" || name == "-" {
		name = "input"
	}
	info, _ := abi.LookupOperation(op)
	if err := checkDocument(name, input, abi.NewDocument(info.Request)); err != nil {
		return nil, err
	}
	input, err := withSettings(s, op, settings[op], input)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	one, err := conformance.NewSingle(conform.New(nil, s, host.PluginConfig{}).Describe(), op, input)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, c := range one.LeftOut {
		a.Say("note: the column %q is not sent, because the manifest does not name it under reads", c)
	}
	return one, nil
}

// withSettings puts settings into a request, with the defaults of the schema.
func withSettings(s *spec.Spec, op abi.Operation, set map[string]any, input []byte) ([]byte, error) {
	doc := map[string]json.RawMessage{}
	if err := json.Unmarshal(input, &doc); err != nil {
		return nil, err
	}
	var given map[string]any
	if raw, ok := doc["settings"]; ok {
		if err := json.Unmarshal(raw, &given); err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
	}
	if given == nil {
		given = map[string]any{}
	}
	maps.Copy(given, set)
	settings, err := s.CheckSettings(op, given)
	if err != nil {
		return nil, err
	}
	delete(doc, "settings")
	if settings != nil {
		doc["settings"] = settings
	}
	return json.Marshal(doc)
}

// finish says what the status of an answer means, and checks the answer to a single request.
func finish(ctx context.Context, a *cli.App, one *conformance.Single, foreign bool, r *host.CallResult) error {
	if !foreign && r.Status == abi.StatusNoChange {
		a.Say("no change")
	}
	if one == nil {
		return nil
	}
	if err := one.Judge(ctx, &conformance.Answer{Status: r.Status, Output: r.Output}); err != nil {
		return fmt.Errorf("%w; --unchecked does not check it", err)
	}
	return nil
}
