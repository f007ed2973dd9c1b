package console

import (
	"reflect"
	"testing"
	"text/template/parse"
)

// The data of the pages.
var pageData = map[string]any{
	"build": buildData{}, "builds": buildsData{}, "configuration": configurationData{}, "conversations": conversationsData{},
	"conversation": conversationData{}, "costs": costsData{}, "diff": diffData{}, "jobs": jobsData{}, "keys": keysData{},
	"collections": collectionsData{}, "memory": memoryData{}, "fact": factData{}, "run": runData{}, "notes": notesData{},
	"now": nowData{}, "problem": "", "plugins": pluginsData{}, "rollout": rolloutData{}, "signin": signInData{},
}

// Templates call no methods: the name of one is an error of the page, in whatever branch it stands.
func TestTemplatesNameOnlyFields(t *testing.T) {
	p, err := newPages()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.byName) != len(pageData) {
		t.Errorf("%d pages, %d in this test", len(p.byName), len(pageData))
	}
	for name, page := range p.byName {
		w := &walk{report: t.Errorf, page: name, data: reflect.TypeOf(pageData[name]), trees: map[string]*parse.Tree{}, seen: map[string]bool{}}
		for _, part := range page.Templates() {
			w.trees[part.Name()] = part.Tree
		}
		w.template("layout", reflect.TypeFor[shown]())
		if w.fields < 10 {
			t.Errorf("%s: %d fields are known", name, w.fields)
		}
	}
	found := false
	w := &walk{report: func(string, ...any) { found = true }}
	if w.field(reflect.TypeFor[visit](), []string{"content"}); !found {
		t.Error("a method is taken for a field")
	}
}

// walk follows the types of a page. A type that is not known is nil.
type walk struct {
	report func(format string, args ...any)
	page   string
	data   reflect.Type
	trees  map[string]*parse.Tree
	seen   map[string]bool
	vars   map[string]reflect.Type
	fields int
}

func (w *walk) template(name string, dot reflect.Type) {
	key := name
	if dot != nil {
		key += " " + dot.String()
	}
	if w.trees[name] == nil || w.seen[key] {
		return
	}
	w.seen[key] = true
	outer := w.vars
	w.vars = map[string]reflect.Type{"$": dot}
	w.list(w.trees[name].Root, dot)
	w.vars = outer
}

func (w *walk) list(l *parse.ListNode, dot reflect.Type) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		switch n := n.(type) {
		case *parse.ActionNode:
			w.pipe(n.Pipe, dot)
		case *parse.IfNode:
			w.pipe(n.Pipe, dot)
			w.list(n.List, dot)
			w.list(n.ElseList, dot)
		case *parse.WithNode:
			w.list(n.List, w.pipe(n.Pipe, dot))
			w.list(n.ElseList, dot)
		case *parse.RangeNode:
			elem := elemOf(w.pipe(n.Pipe, dot))
			if names := n.Pipe.Decl; len(names) > 0 {
				w.vars[names[len(names)-1].Ident[0]] = elem
			}
			w.list(n.List, elem)
			w.list(n.ElseList, dot)
		case *parse.TemplateNode:
			w.template(n.Name, w.pipe(n.Pipe, dot))
		}
	}
}

// elemOf is what range sees of a value.
func elemOf(t reflect.Type) reflect.Type {
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

func (w *walk) pipe(p *parse.PipeNode, dot reflect.Type) (t reflect.Type) {
	if p == nil {
		return nil
	}
	for _, c := range p.Cmds {
		for i := len(c.Args) - 1; i >= 0; i-- {
			t = w.value(c.Args[i], dot)
		}
	}
	for _, v := range p.Decl {
		w.vars[v.Ident[0]] = t
	}
	return t
}

func (w *walk) value(n parse.Node, dot reflect.Type) reflect.Type {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return w.field(dot, n.Ident)
	case *parse.VariableNode:
		return w.field(w.vars[n.Ident[0]], n.Ident[1:])
	case *parse.ChainNode:
		return w.field(w.value(n.Node, dot), n.Field)
	case *parse.PipeNode:
		return w.pipe(n, dot)
	case *parse.IdentifierNode:
		if f := words[n.Ident]; f != nil {
			return reflect.TypeOf(f).Out(0)
		}
	}
	return nil
}

func (w *walk) field(t reflect.Type, names []string) reflect.Type {
	for _, name := range names {
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		switch {
		case t == nil || t.Kind() == reflect.Interface:
			return nil
		case t == reflect.TypeFor[shown]() && name == "Data":
			t = w.data
			continue
		case t.Kind() == reflect.Map:
			t = t.Elem()
			continue
		}
		var f reflect.StructField
		found := false
		if t.Kind() == reflect.Struct {
			f, found = t.FieldByName(name)
		}
		if !found {
			w.report("page %s: %s has no field %s (give it one: templates call no methods)", w.page, t, name)
			return nil
		}
		t = f.Type
		w.fields++
	}
	return t
}
