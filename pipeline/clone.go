package pipeline

import (
	"maps"
	"reflect"
	"slices"
)

// Clone returns a copy of the item that shares no map and no slice with it.
func (it Item) Clone() Item {
	it.Metadata = cloneMap(it.Metadata)
	return it
}

// CloneItems returns a deep copy of items; nil stays nil.
func CloneItems(items []Item) []Item {
	out := slices.Clone(items)
	for i := range out {
		out[i].Metadata = cloneMap(out[i].Metadata)
	}
	return out
}

// Clone returns a copy of the query that shares no map and no slice with it.
func (q Query) Clone() Query {
	q.Embedding = slices.Clone(q.Embedding)
	q.Metadata = cloneMap(q.Metadata)
	q.ChatHistory = cloneTurns(q.ChatHistory)
	return q
}

func cloneTurns(turns []Turn) []Turn {
	out := slices.Clone(turns)
	for i := range out {
		out[i].Metadata = cloneMap(out[i].Metadata)
	}
	return out
}

func cloneMap(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = cloneValue(v)
	}
	return out
}

// cloneValue copies the kinds that metadata documents without reflection, and
// maps and slices of other types with it. What pointers point to is shared.
func cloneValue(v any) any {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, int:
		return v
	case map[string]any:
		return cloneMap(v)
	case []any:
		out := slices.Clone(v)
		for i := range out {
			out[i] = cloneValue(out[i])
		}
		return out
	case []string:
		return slices.Clone(v)
	case map[string]string:
		return maps.Clone(v)
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Map || r.Kind() == reflect.Slice {
		return cloneReflected(r).Interface()
	}
	return v
}

func cloneReflected(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			out.SetMapIndex(it.Key(), cloneReflected(it.Value()))
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(cloneReflected(v.Index(i)))
		}
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(cloneReflected(v.Elem()))
		return out
	}
	return v
}
