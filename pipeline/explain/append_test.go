package explain_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/internal/jsontest"
)

// Each field is written as encoding/json writes it by reflection, with its zero value and with
// another one.
func TestEachFieldIsWritten(t *testing.T) {
	written := func(items ...explain.ItemTrace) ([]byte, error) {
		return explain.NewTrace(func() []explain.ItemTrace { return items }).MarshalJSON()
	}
	jsontest.EachField(t, func(it *explain.ItemTrace) (any, []byte, error) {
		got, err := written(*it, *it)
		return []explain.ItemTrace{*it, *it}, got, err
	})
	event := func(e explain.Event) (any, []byte, error) {
		it := explain.ItemTrace{Events: []explain.Event{e}}
		got, err := written(it)
		return []explain.ItemTrace{it}, got, err
	}
	jsontest.EachField(t, func(e *explain.Event) (any, []byte, error) { return event(*e) })
	jsontest.EachField(t, func(c *explain.BudgetCheck) (any, []byte, error) { return event(explain.Event{Budget: c}) })
	jsontest.EachField(t, func(c *explain.Change[int]) (any, []byte, error) { return event(explain.Event{Place: c}) })
}
