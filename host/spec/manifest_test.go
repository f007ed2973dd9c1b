package spec

import (
	"strings"
	"testing"
)

// A manifest beside the module is bounded before it is read as YAML, which is slow.
func TestLongManifestBeside(t *testing.T) {
	long := `{"abi":1,"name":"x","version":"0.1.0","operations":{"filter":{}},"description":"` + strings.Repeat("a", maxYAML) + `"}`
	if _, err := yamlToJSON([]byte(long)); err != nil {
		t.Errorf("as JSON: %v", err)
	}
	if _, err := yamlToJSON([]byte(long + "\n# a comment")); err == nil || !strings.Contains(err.Error(), "write it as JSON") {
		t.Errorf("as YAML: error %.200v", err)
	}
}
