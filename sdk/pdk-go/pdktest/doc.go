// Package pdktest runs the handlers of a plugin without Wasm, through the same
// code that serves the exports, in both lanes.
//
//	func TestKeepsHighScores(t *testing.T) {
//		got := pdktest.Run(t, "filter", &abi.ItemsRequest{
//			Items:    []abi.Item{{Score: 0.9}, {Score: 0.1}},
//			Settings: json.RawMessage(`{"min": 0.5}`),
//		})
//		if !slices.Equal(got.Keep, []uint32{0}) {
//			t.Errorf("keep %v", got.Keep)
//		}
//	}
//
// The test is in package main of the plugin, whose init function registers the handlers.
// [Run] fails the test if the lanes disagree, or if a host would refuse the answer.
// [Document] is for operations without rows. [Init] runs setup. [Use] gives the plugin a
// configuration, a store and an HTTP client in memory; [Responses] has the client answer what
// tests/http.json lists.
//
// Handlers and services are global, as they are in a plugin: tests that use
// them must not run in parallel.
package pdktest
