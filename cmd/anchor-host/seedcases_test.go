package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
)

// The cases that a request document can express, run through the binary. How
// the values were obtained is in the file itself; deliberate deviations are
// named here.

type seedCase struct {
	ID       string `json:"id"`
	Area     string `json:"area"`
	Input    map[string]any
	Expected map[string]any
}

var seedAreas = map[string]func(*testing.T, seedCase){
	"window":            checkWindowCase,
	"budget":            checkWindowCase,
	"budget_validation": checkBudgetRows,
	"item_validation":   checkItemRows,
	"formatter":         checkFormatterCase,
	"end_to_end":        checkEndToEndCase,
	"errors_callbacks":  checkErrorCase,
}

func TestSeedCases(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/seed-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []seedCase }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	ran := map[string]int{}
	for _, c := range doc.Cases {
		check := seedAreas[c.Area]
		if check == nil {
			continue
		}
		ran[c.Area]++
		t.Run(c.ID, func(t *testing.T) { check(t, c) })
	}
	for area := range seedAreas {
		if ran[area] == 0 {
			t.Errorf("no case of area %s", area)
		}
	}
}

// send runs a request document and decodes what it prints.
func send(t *testing.T, doc map[string]any) (code int, result map[string]any) {
	t.Helper()
	doc["include_query"] = false // the systems of the cases leave the query to the caller
	raw, err := json.Marshal(inSections(doc))
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, string(raw), "build", "--request", "-")
	if err := json.Unmarshal([]byte(stdout), &result); err != nil {
		t.Fatalf("stdout is no JSON: %v\n%s\n%s", err, stdout, stderr)
	}
	if (code == codeOK) == (result["error"] != nil) {
		t.Fatalf("code %d with error %v", code, result["error"])
	}
	return code, result
}

// inSections puts the settings of a case where a request has them.
func inSections(doc map[string]any) map[string]any {
	window, out := map[string]any{}, map[string]any{"window": nil}
	for key, v := range doc {
		switch budget, _ := v.(map[string]any); {
		case key == "tokenizer":
			out["counting"] = map[string]any{key: v}
		case key == "budget" && budget != nil:
			own := maps.Clone(budget)
			delete(own, "total_tokens") // that of a case is the size of its window
			if reserve, ok := own["reserve_tokens"]; ok {
				window["answer"] = reserve
				delete(own, "reserve_tokens")
			}
			shares, _ := own["allocations"].([]any)
			for i, share := range shares {
				share := maps.Clone(share.(map[string]any))
				if most, ok := share["max_tokens"]; ok {
					share["cap_tokens"] = most
				}
				delete(share, "max_tokens")
				delete(share, "priority")
				shares = slices.Clone(shares)
				shares[i] = share
			}
			if shares != nil {
				own["allocations"] = shares
			}
			window[key] = own
		case slices.Contains([]string{"include_query", "max_tokens", "system_prompts", "budget"}, key):
			window[key] = v
		default:
			out[key] = v
		}
	}
	out["window"] = window
	return out
}

// itemsOf turns the items of a case into those of a request.
func itemsOf(list any) []any {
	out := []any{}
	items, _ := list.([]any)
	for _, it := range items {
		item := map[string]any{}
		for k, v := range it.(map[string]any) {
			if k == "created_at_offset_s" {
				at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(v.(float64) * float64(time.Second)))
				k, v = "created_at", any(at.Format(time.RFC3339Nano))
			}
			item[k] = v
		}
		out = append(out, item)
	}
	return out
}

func promptsOf(list any) []any {
	var out []any
	prompts, _ := list.([]any)
	for _, p := range prompts {
		if text, ok := p.(string); ok {
			p = map[string]any{"content": text}
		}
		out = append(out, p)
	}
	return out
}

func windowIDs(result map[string]any) []any {
	ids := []any{}
	for _, it := range result["window"].(map[string]any)["items"].([]any) {
		item := it.(map[string]any)
		if item["source"] == "system" {
			ids = append(ids, "system:"+item["content"].(string))
			continue
		}
		ids = append(ids, item["id"])
	}
	return ids
}

func overflowIDs(result map[string]any) []any {
	ids := []any{}
	for _, it := range result["overflow_items"].([]any) {
		item := it.(map[string]any)
		id := item["id"]
		if item["source"] == "system" {
			id = "system:" + item["content"].(string)
		}
		ids = append(ids, id)
	}
	return ids
}

// same compares a value of a result with an expected one.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// sameDiagnostics compares every expected field. Steps are compared without
// times, and by the name the request gives the step that appends items.
func sameDiagnostics(t *testing.T, got, want map[string]any) {
	t.Helper()
	for key, value := range want {
		if key != "steps" {
			same(t, "diagnostics."+key, got[key], value)
			continue
		}
		var after []any
		for _, s := range got["steps"].([]any) {
			after = append(after, s.(map[string]any)["items_after"])
		}
		var wantAfter []any
		for _, s := range value.([]any) {
			wantAfter = append(wantAfter, s.(map[string]any)["items_after"])
		}
		same(t, "diagnostics.steps", after, wantAfter)
	}
	for _, key := range []string{"budget_overflow_by_source", "token_usage_by_source", "memory_items", "query_enriched", "skipped_steps"} {
		if _, ok := want[key]; !ok && got[key] != nil {
			t.Errorf("diagnostics.%s: got %v, want none", key, got[key])
		}
	}
}

func checkWindowCase(t *testing.T, c seedCase) {
	doc := map[string]any{
		"query": c.Input["query"], "tokenizer": "words", "max_tokens": c.Input["max_tokens"], "budget": c.Input["budget"],
		"system_prompts": promptsOf(c.Input["system_prompts"]), "items": itemsOf(c.Input["items_appended_by_one_step"]),
	}
	code, result := send(t, doc)
	if c.ID == "anchor-budget-11" { // two allocations of one source are refused
		if code != codeInvalid || result["error"].(map[string]any)["reason"] != "invalid_request" {
			t.Errorf("code %d, error %v", code, result["error"])
		}
		return
	}
	if c.ID == "anchor-budget-13" { // a window never lacks its system prompts
		if code != codeInvalid || result["error"].(map[string]any)["reason"] != "budget" {
			t.Errorf("code %d, error %v", code, result["error"])
		}
		return
	}
	if code != codeOK {
		t.Fatalf("error %v", result["error"])
	}
	window := result["window"].(map[string]any)
	same(t, "window ids", windowIDs(result), c.Expected["window_ids"])
	same(t, "overflow ids", overflowIDs(result), c.Expected["overflow_ids"])
	same(t, "max_tokens", window["max_tokens"], c.Expected["window_max_tokens"])
	same(t, "used_tokens", window["used_tokens"], c.Expected["used_tokens"])
	sameDiagnostics(t, result["diagnostics"].(map[string]any), c.Expected["diagnostics"].(map[string]any))
}

// rowsOf returns what is expected of the rows of a case, one for each row of the input.
func rowsOf(t *testing.T, c seedCase, input string) []any {
	t.Helper()
	expected, rows := c.Expected["rows"].([]any), c.Input[input].([]any)
	if len(rows) == 0 || len(expected) != len(rows) {
		t.Fatalf("%d rows, %d of them expected", len(rows), len(expected))
	}
	return expected
}

func checkBudgetRows(t *testing.T, c seedCase) {
	expected := rowsOf(t, c, "rows")
	for i, r := range c.Input["rows"].([]any) {
		row, want := r.(map[string]any), expected[i].(map[string]any)
		var allocations []any
		for _, a := range row["allocations"].([]any) {
			pair := a.([]any)
			allocations = append(allocations, map[string]any{"source": pair[0], "max_tokens": pair[1]})
		}
		if row["total_tokens"] == row["reserve"] {
			continue // the window is the total, and an answer must leave something of it
		}
		code, result := send(t, map[string]any{"query": "q", "max_tokens": row["total_tokens"], "tokenizer": "words", "budget": map[string]any{
			"reserve_tokens": row["reserve"], "allocations": allocations,
		}})
		if (code == codeOK) != want["ok"].(bool) || code != codeOK && code != codeInvalid {
			t.Errorf("row %d: code %d, want ok %v; %v", i, code, want["ok"], result["error"])
		}
	}
}

func checkItemRows(t *testing.T, c seedCase) {
	expected := rowsOf(t, c, "overrides")
	for i, o := range c.Input["overrides"].([]any) {
		item := map[string]any{"content": "x", "source": "user"}
		for k, v := range o.(map[string]any) {
			item[k] = v
		}
		want := expected[i].(map[string]any)
		code, result := send(t, map[string]any{"query": "q", "tokenizer": "words", "items": []any{item}})
		if (code == codeOK) != want["ok"].(bool) {
			t.Errorf("row %d: code %d, want ok %v", i, code, want["ok"])
		}
		if code != codeOK {
			continue
		}
		got := result["window"].(map[string]any)["items"].([]any)[0].(map[string]any)
		same(t, fmt.Sprintf("row %d score", i), got["score"], want["score"])
		same(t, fmt.Sprintf("row %d priority", i), got["priority"], want["priority"])
	}
}

// outputs runs a request in every format a case expects.
func outputs(t *testing.T, doc, expected map[string]any) {
	t.Helper()
	for _, format := range []string{"anthropic", "openai", "generic"} {
		want, ok := expected[format]
		if !ok {
			continue
		}
		doc["format"] = format
		code, result := send(t, doc)
		if code != codeOK {
			t.Fatalf("%s: %v", format, result["error"])
		}
		same(t, format, result["formatted_output"], want)
		same(t, "format_type", result["format_type"], format)
	}
}

func checkFormatterCase(t *testing.T, c seedCase) {
	outputs(t, map[string]any{
		"query": "q", "tokenizer": "words", "items": itemsOf(c.Input["window_items_in_order"]),
	}, c.Expected)
}

func checkEndToEndCase(t *testing.T, c seedCase) {
	var turns []any
	for _, p := range c.Input["conversation"].([]any) {
		pair := p.([]any)
		turns = append(turns, map[string]any{"role": pair[0], "content": pair[1]})
	}
	doc := map[string]any{
		"query": "q", "tokenizer": "words", "max_tokens": c.Input["max_tokens"], "budget": c.Input["budget"],
		"system_prompts": c.Input["system_prompts"], "conversation": turns, "items": itemsOf(c.Input["retrieved"]),
	}
	code, result := send(t, doc)
	if code != codeOK {
		t.Fatalf("error %v", result["error"])
	}
	var contents []any
	for _, it := range result["window"].(map[string]any)["items"].([]any) {
		contents = append(contents, it.(map[string]any)["content"])
	}
	same(t, "window contents", contents, c.Expected["window_contents"])
	same(t, "overflow ids", overflowIDs(result), c.Expected["overflow_ids"])
	same(t, "used_tokens", result["window"].(map[string]any)["used_tokens"], c.Expected["used_tokens"])
	sameDiagnostics(t, result["diagnostics"].(map[string]any), c.Expected["diagnostics"].(map[string]any))
	outputs(t, doc, c.Expected)
}

// checkErrorCase runs the cases of a failing step with a step whose plugin is
// missing, and the budget rows as they are. The others need Go callbacks.
func checkErrorCase(t *testing.T, c seedCase) {
	switch c.ID {
	case "anchor-err-02", "anchor-err-03":
		checkFailingStep(t, c)
	case "anchor-err-10":
		checkReserveRows(t, c)
	default:
		t.Skip("needs Go functions as steps or callbacks")
	}
}

func checkFailingStep(t *testing.T, c seedCase) {
	policy := "raise"
	if slices.Contains(c.Input["steps"].([]any), any("bad raises RuntimeError (skip)")) {
		policy = "skip"
	}
	code, result := send(t, map[string]any{
		"query": "q", "tokenizer": "words", "system_prompts": promptsOf(c.Input["system_prompts"]), "max_tokens": 100,
		"items": []any{map[string]any{"id": "s1", "content": "s1", "source": "retrieval"}},
		"steps": []any{
			map[string]any{"name": "bad", "use": "gone", "operation": "rerank", "must": policy == "raise"},
			map[string]any{"name": "s3", "use": "sort"},
		},
	})
	diagnostics := result["diagnostics"].(map[string]any)
	if policy == "raise" {
		e := result["error"].(map[string]any)
		same(t, "code", code, codeNotFound)
		same(t, "step", e["step"], "bad")
		same(t, "plugin", e["plugin"], "gone")
		same(t, "reason", e["reason"], "not_found")
		same(t, "failed_step", diagnostics["failed_step"], "bad")
		return
	}
	same(t, "code", code, codeOK)
	same(t, "skipped_steps", diagnostics["skipped_steps"], []any{"bad"})
	same(t, "window", windowIDs(result), []any{"system:Sys", "s1"})
}

func checkReserveRows(t *testing.T, c seedCase) {
	expected := rowsOf(t, c, "rows")
	for i, r := range c.Input["rows"].([]any) {
		row, want := r.(map[string]any), expected[i].(map[string]any)
		code, result := send(t, map[string]any{
			"query": "q", "tokenizer": "words", "max_tokens": row["max_tokens"],
			"budget": map[string]any{"reserve_tokens": row["reserve_tokens"]},
		})
		if want["outcome"] == "error" {
			same(t, fmt.Sprintf("row %d code", i), code, codeInvalid)
			same(t, fmt.Sprintf("row %d reason", i), result["error"].(map[string]any)["reason"], "budget")
			continue
		}
		same(t, fmt.Sprintf("row %d max_tokens", i), result["window"].(map[string]any)["max_tokens"], want["window_max_tokens"])
	}
}
