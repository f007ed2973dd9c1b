package server

import (
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/failures"
)

// A key sees that calls of its tenant failed, and no text without the scope for it; one with the scope admin
// sees all tenants. Without keys everything is seen. Nobody sees anything without a key where there are keys.
func TestFailuresByKey(t *testing.T) {
	var log failures.Log
	for _, tenant := range []string{"tenant-a", "tenant-b"} {
		log.Add(record.Failure{
			Call: record.Call{Plugin: "p", Operation: abi.OpFilter, Step: "s", Err: "text of " + tenant, Request: []byte(`{"items":[]}`)},
			Time: time.Now(), Tenant: tenant, Reason: abi.ReasonTrap, Public: "public of " + tenant, Stack: "stack of " + tenant,
		})
	}
	keyed, open := start(t, words, Options{Authenticator: staticKeys{}, Failures: &log}), start(t, words, Options{Failures: &log})
	for _, tt := range []struct {
		key, path       string
		status          int
		has, lacks, sum string
	}{
		{"a", "/v1/plugins/p/failures", 200, "tenant-a", "tenant-b", "text of"},
		{"b", "/v1/plugins/failures", 200, "tenant-b", "tenant-a", "of tenant"},
		{"x", "/v1/plugins/failures", 200, "tenant-a", "text of", "stack of"},
		{"x", "/v1/plugins/q/failures", 200, `"failures":[]`, "tenant", "tenant"},
		{"r", "/v1/plugins/failures", 403, "forbidden", "tenant-b", "text of"},
		{"none", "/v1/plugins/failures", 401, "", "tenant", "tenant"},
		{"a", "/v1/plugins/failures?limit=1", 400, "limit", "tenant-b", "tenant-b"},
	} {
		got := keyed.api("GET", tt.path, "", "Authorization", "Bearer "+tt.key)
		body := string(got.body)
		if got.status != tt.status || !strings.Contains(strings.ReplaceAll(body, " ", ""), tt.has) || strings.Contains(body, tt.lacks) || strings.Contains(body, tt.sum) {
			t.Errorf("key %s, %s: %d %s", tt.key, tt.path, got.status, body)
		}
	}
	got := open.api("GET", "/v1/plugins/p/failures", "")
	for _, want := range []string{"text of tenant-a", "stack of tenant-b", "anchor_filter", `"case"`} {
		if got.status != 200 || !strings.Contains(string(got.body), want) {
			t.Errorf("without keys: %d lacks %s: %s", got.status, want, got.body)
		}
	}
}
