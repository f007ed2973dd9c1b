package sourcescmd

import (
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func TestCondition(t *testing.T) {
	for text, want := range map[string]retrieve.Condition{
		"tags=a":          {Field: "tags", Op: retrieve.OpEqual, Values: []string{"a"}},
		"year >= 2024":    {Field: "year", Op: retrieve.OpAtLeast, Values: []string{"2024"}},
		"time<2026-01-31": {Field: "time", Op: retrieve.OpBelow, Values: []string{"2026-01-31"}},
		"path^=guide/a=b": {Field: "path", Op: retrieve.OpPrefix, Values: []string{"guide/a=b"}},
		"title!=a":        {Field: "title", Op: retrieve.OpNotEqual, Values: []string{"a"}},
		"owner=":          {Field: "owner", Op: retrieve.OpEqual, Values: []string{""}},
		"a>b":             {Field: "a", Op: retrieve.OpAbove, Values: []string{"b"}},
		"n<=1":            {Field: "n", Op: retrieve.OpAtMost, Values: []string{"1"}},
		"":                {},
		"tags":            {},
		"=a":              {},
	} {
		got, ok := condition(text)
		if ok != (want.Field != "") || ok && (got.Field != want.Field || got.Op != want.Op || got.Values[0] != want.Values[0]) {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
}
