package format

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/seedcase"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

func TestSeedCases(t *testing.T) {
	data, err := os.ReadFile("../../testdata/seed-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []seedcase.Case }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range doc.Cases {
		if c.Area != "formatter_roles" {
			continue // package pipeline runs the others
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			for _, d := range seedcase.Differences("", seedcase.JSON(t, runFormatterRolesCase(t, c)), c.Expected, 0) {
				t.Error(d)
			}
		})
	}
	if ran == 0 {
		t.Error("no case of formatter_roles")
	}
}

func runFormatterRolesCase(t *testing.T, c seedcase.Case) any {
	var in struct {
		Lists [][]struct {
			Role         core.Role
			Content      string
			CacheControl *CacheControl `json:"cache_control"`
		} `json:"message_lists"`
	}
	seedcase.Decode(t, c, &in)
	lists := [][]map[string]any{}
	for _, list := range in.Lists {
		var messages []chatMessage
		for _, m := range list {
			message := chatMessage{role: m.Role, parts: []string{m.Content}}
			if m.CacheControl != nil {
				message.cached = 1
			}
			messages = append(messages, message)
		}
		merged := []map[string]any{}
		for _, m := range mergeRoles(messages) {
			row := map[string]any{"role": m.role, "content": m.text()}
			if m.cached > 0 {
				row["cache_control"] = ephemeral() // of the message, where the format marks a block of it
			}
			merged = append(merged, row)
		}
		lists = append(lists, merged)
	}
	return map[string]any{"message_lists": lists}
}
