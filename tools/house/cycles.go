package main

import (
	"cmp"
	"go/ast"
	"slices"
)

// cycles returns the groups of files of a package that use each other, directly or through
// other files: the strongly connected components with two files or more, the largest first. A
// file uses another file if it names a package-level declaration of it. Uses of methods do
// not count, because without types it is unknown which type they belong to.
func cycles(sources []source, uses []map[int][]string) [][]string {
	reached := make([]map[int]bool, len(sources))
	for i := range sources {
		reached[i] = reachable(uses, i)
	}
	var groups [][]string
	grouped := map[int]bool{}
	for i := range sources {
		if grouped[i] {
			continue
		}
		var group []string
		for j := range sources {
			if j == i || reached[i][j] && reached[j][i] {
				grouped[j] = true
				group = append(group, sources[j].name)
			}
		}
		if len(group) > 1 {
			groups = append(groups, group)
		}
	}
	slices.SortStableFunc(groups, func(a, b []string) int { return cmp.Compare(len(b), len(a)) })
	return groups
}

// reachable returns the files that a file uses, directly or through other files.
func reachable(uses []map[int][]string, from int) map[int]bool {
	seen := map[int]bool{}
	for next := []int{from}; len(next) > 0; {
		last := next[len(next)-1]
		next = next[:len(next)-1]
		for to := range uses[last] {
			if !seen[to] {
				seen[to] = true
				next = append(next, to)
			}
		}
	}
	return seen
}

// arrows returns the names that each file uses of each other file, by index. If several files
// declare a name, each for other platforms, all of them count.
func arrows(sources []source) []map[int][]string {
	declaredIn := map[string][]int{}
	for i, s := range sources {
		for _, name := range declared(s.file) {
			declaredIn[name] = append(declaredIn[name], i)
		}
	}
	uses := make([]map[int][]string, len(sources))
	for i, s := range sources {
		uses[i] = map[int][]string{}
		for _, name := range used(s.file) {
			for _, j := range declaredIn[name] {
				if j != i && !slices.Contains(uses[i][j], name) {
					uses[i][j] = append(uses[i][j], name)
				}
			}
		}
	}
	return uses
}

// reference is the names that a file of a cycle uses of another file of the same cycle.
type reference struct {
	From  string   `json:"from"`
	To    string   `json:"to"`
	Names []string `json:"names"`
}

// references returns the references between files that are in the same cycle, in the order of
// the cycles and of the names of the files.
func references(sources []source, uses []map[int][]string, groups [][]string) []reference {
	var refs []reference
	for _, group := range groups {
		for i, from := range sources {
			if !slices.Contains(group, from.name) {
				continue
			}
			for j, to := range sources {
				if names := uses[i][j]; len(names) > 0 && slices.Contains(group, to.name) {
					refs = append(refs, reference{from.name, to.name, names})
				}
			}
		}
	}
	return refs
}

// declared returns the names that a file declares at package level.
func declared(file *ast.File) []string {
	var names []string
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.Name != "_" {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name != "init" {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					add(s.Names...)
				case *ast.TypeSpec:
					add(s.Name)
				}
			}
		}
	}
	return names
}

// used returns the names in a file that the file itself does not declare in any scope. The
// parser finds them without types. It leaves out the keys of composite literals, because they
// may be fields; keys of maps and arrays are never fields.
func used(file *ast.File) []string {
	var names []string
	for _, id := range file.Unresolved {
		names = append(names, id.Name)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		switch literal.Type.(type) {
		case *ast.MapType, *ast.ArrayType:
			for _, e := range literal.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if id, ok := kv.Key.(*ast.Ident); ok && id.Obj == nil {
						names = append(names, id.Name)
					}
				}
			}
		}
		return true
	})
	return names
}
