package main

import (
	"context"
	"io"
)

func setsOf(_ context.Context, f *flags, _ io.Writer) ([]set, error) {
	var out []set
	for _, folder := range f.folders {
		s, err := folderSets(folder)
		if err != nil {
			return nil, err
		}
		out = append(out, s...)
	}
	return out, nil
}
