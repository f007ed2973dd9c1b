package memorycmd

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// metadataFlag adds the flag that states metadata.
func metadataFlag(cmd *cobra.Command, pairs *[]string) {
	cmd.Flags().StringArrayVar(pairs, "metadata", nil, "metadata as KEY=VALUE (repeatable); VALUE is JSON, or else text")
}

// metadata reads the values of the flag --metadata, nil for none.
func metadata(s *records.Session, pairs []string) (map[string]any, error) {
	var out map[string]any
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, s.Usagef("flag --metadata: want KEY=VALUE, got %q", pair)
		}
		if !json.Valid([]byte(value)) {
			text, err := json.Marshal(value)
			if err != nil {
				return nil, err
			}
			value = string(text)
		}
		name, err := json.Marshal(key)
		if err != nil {
			return nil, err
		}
		// An entry knows which values metadata can have.
		var e memory.Entry
		if err := json.Unmarshal([]byte(`{"content":"","metadata":{`+string(name)+`:`+value+`}}`), &e); err != nil {
			return nil, s.Usagef("flag --metadata: %q: %w", pair, err)
		}
		if out == nil {
			out = map[string]any{}
		}
		maps.Copy(out, e.Metadata)
	}
	return out, nil
}

// checkType refuses an unknown type of facts.
func checkType(s *records.Session, kind string) error {
	if kind != "" && !memory.Type(kind).Valid() {
		return s.Usagef("flag --type: want one of semantic, episodic, procedural, conversation, got %q", kind)
	}
	return nil
}

// checkShare refuses a value that is not within 0 and 1.
func checkShare(s *records.Session, flag string, v float64) error {
	if !(v >= 0 && v <= 1) {
		return s.Usagef("flag --%s: want 0 to 1, got %v", flag, v)
	}
	return nil
}

// expiry reads a time span from now, or a time; zero for none.
func expiry(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(d).UTC(), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil || !at.After(now) {
		return time.Time{}, fmt.Errorf("want a time span such as 720h, or a future time such as 2030-01-02T15:04:05Z, got %q", s)
	}
	return at.UTC(), nil
}
