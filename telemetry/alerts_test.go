package telemetry

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Each alert uses metrics and labels that there are, has a section in the manual, and tests that it
// fires and that it is silent. "make alerts" runs these tests.
func TestAlerts(t *testing.T) {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	labels := map[string][]string{"up": {"job", "instance"}}
	for line := range strings.Lines(read("testdata/names.txt")) {
		if f := strings.Fields(line); f[0] == "metric" {
			labels[f[1]] = append(strings.Split(strings.Join(f[3:], ""), ","), "le")
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read("../docs/alerts/rules.yaml")), &rules); err != nil {
		t.Fatal(err)
	}
	tests, manual := read("../docs/alerts/tests.yaml"), read("../docs/operate-alerts.md")
	selector := regexp.MustCompile(`\b(up|anchor_\w+|gen_ai_client\w+)(\{[^}]*\})?`)
	if len(rules.Groups) != 1 || len(rules.Groups[0].Rules) < 10 {
		t.Fatalf("%d groups", len(rules.Groups))
	}
	for _, r := range rules.Groups[0].Rules {
		found := selector.FindAllStringSubmatch(r.Expr, -1)
		if len(found) == 0 {
			t.Errorf("%s uses no metric", r.Alert)
		}
		for _, m := range found {
			if strings.HasPrefix(m[1], "gen_ai_request_model") {
				continue
			}
			known, ok := labels[strings.TrimSuffix(strings.TrimSuffix(m[1], "_bucket"), "_count")]
			if !ok {
				t.Errorf("%s: there is no metric %s", r.Alert, m[1])
			}
			for _, l := range regexp.MustCompile(`(\w+)[!=]`).FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(known, l[1]) {
					t.Errorf("%s: %s has no label %s", r.Alert, m[1], l[1])
				}
			}
		}
		for _, want := range []string{"name: " + r.Alert + " fires", "name: " + r.Alert + " is silent"} {
			if !strings.Contains(tests, want) {
				t.Errorf("no test %q", want)
			}
		}
		if !strings.Contains(manual, "## "+r.Alert+"\n") || r.Annotations["runbook"] != "docs/operate-alerts.md#"+strings.ToLower(r.Alert) {
			t.Errorf("%s has no section in the manual", r.Alert)
		}
	}
	checkManual(t, manual, len(rules.Groups[0].Rules), labels)
}

// checkManual checks the sections of the manual: each belongs to an alert, has commands, and asks
// for metrics that there are.
func checkManual(t *testing.T, manual string, alerts int, labels map[string][]string) {
	t.Helper()
	sections := strings.Split(manual, "\n## ")[1:]
	if len(sections) != alerts {
		t.Errorf("%d sections for %d alerts", len(sections), alerts)
	}
	for _, s := range sections {
		name, text, _ := strings.Cut(s, "\n")
		_, block, found := strings.Cut(text, "```sh\n")
		block, after, ended := strings.Cut(block, "```\n")
		if !found || !ended || strings.TrimSpace(after) == "" {
			t.Errorf("%s: want what it means, a block of commands, and the remedy", name)
		}
		for _, m := range regexp.MustCompile(`\banchor_[a-z_]+[a-z]`).FindAllString(block, -1) {
			if _, ok := labels[m]; !ok {
				t.Errorf("%s: there is no metric %s", name, m)
			}
		}
	}
}
