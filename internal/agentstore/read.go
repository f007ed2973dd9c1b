package agentstore

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/internal/decode"
)

// freeJSON are the places of a record that hold any JSON, by its kind.
var freeJSON = map[string][]string{
	KindFrame: {"data"},
	KindRun:   {"frames.*.data"},
	KindPlan:  {"steps.*.inputs", "steps.*.outputs", "steps.*.checks"},
	KindState: {"messages.*.*"},
}

// unmarshal reads a record of a kind. Older stores may name a member of free JSON twice, which
// is refused today before it is stored: the last value counts, as in most JSON programs.
func unmarshal(kind string, data []byte, to any) error {
	err := json.Unmarshal(data, to)
	if err == nil || len(freeJSON[kind]) == 0 {
		return err
	}
	if merged := decode.MergeRepeats(data, freeJSON[kind]...); len(merged) != len(data) {
		return json.Unmarshal(merged, to)
	}
	return err
}
