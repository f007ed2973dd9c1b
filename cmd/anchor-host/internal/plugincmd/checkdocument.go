package plugincmd

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// checkDocument refuses unknown members, values of another kind and unknown sources of items, with
// their places.
func checkDocument(name string, data []byte, like any) error {
	node, err := strict.ParseJSON(name, data)
	if err != nil {
		return err
	}
	return append(problems(strict.Members(name, node, like)), unknownSources(name, "", node)...).Err()
}

// checkCases refuses the same in a file of cases, and in the requests that they have.
func checkCases(name string, data []byte) error {
	node, err := strict.ParseJSON(name, data)
	if err != nil {
		return err
	}
	cases, like := []strict.Node{*node}, any(conformance.OwnCase{})
	if node.Kind == strict.List {
		cases, like = node.Items(), []conformance.OwnCase{}
	}
	found := problems(strict.Members(name, node, like))
	for i := range cases {
		c, at := &cases[i], ""
		if node.Kind == strict.List {
			at = fmt.Sprintf("[%d].", i)
		}
		found = append(found, unknownSources(name, at, c)...)
		request, ok := c.Find("request")
		op, named := c.Find("operation")
		if !ok || !named || request.Kind != strict.Map {
			continue
		}
		if info, known := abi.LookupOperation(abi.Operation(op.Text)); known {
			for _, p := range problems(strict.Members(name, request, abi.NewDocument(info.Request))) {
				p.Path = at + "request." + p.Path
				found = append(found, p)
			}
			found = append(found, unknownSources(name, at+"request.", request)...)
		}
	}
	return found.Err()
}

// problems are the mistakes that an error lists.
func problems(err error) (list strict.Problems) {
	errors.As(err, &list)
	return list
}

// unknownSources lists the items of a document whose source is none. at begins their paths.
func unknownSources(name, at string, node *strict.Node) (list strict.Problems) {
	items, ok := node.Find("items")
	if !ok {
		return nil
	}
	var known []string
	for _, s := range core.Sources {
		known = append(known, string(s))
	}
	for i := range items.Items() {
		s, ok := items.Items()[i].Find("source")
		if ok && s.Kind == strict.String && !slices.Contains(known, s.Text) {
			list = append(list, strict.Problem{File: name, Pos: s.Pos, Path: fmt.Sprintf("%sitems[%d].source", at, i),
				Message: fmt.Sprintf("unknown source %.100q%s", s.Text, strict.Hint(s.Text, known))})
		}
	}
	return list
}
