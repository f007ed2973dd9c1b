package main

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/internal/request"
)

// Every flag of build is in the table that says what a request does with it.
func TestFlagsOfBuildAreInTheTable(t *testing.T) {
	a := newApp(t.Context(), nil, nil, nil)
	a.buildCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.ContainsFunc(request.Settings, func(s request.Setting) bool { return s.Flag == f.Name }) {
			t.Errorf("flag --%s is not in request.Settings", f.Name)
		}
	})
}
