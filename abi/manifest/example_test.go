package manifest_test

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi/manifest"
)

func ExampleParse() {
	_, err := manifest.Parse([]byte(`{
		"abi": 1, "name": "recent", "version": "0.1.0",
		"operations": {"filter": {"reads": ["created_at", "scores"]}}
	}`))
	fmt.Println(err)
	// Output: manifest: operations.filter.reads[1]: unknown column "scores" (did you mean "score"?)
}
