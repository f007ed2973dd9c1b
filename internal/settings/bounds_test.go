package settings

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
)

// joined makes n parts of a format with a number each.
func joined(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(format, "%d", fmt.Sprint(i))
	}
	return strings.Join(parts, ",")
}

// doubling is a schema whose definitions ask for the next one twice with a keyword.
func doubling(n int, keyword, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{%q:[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, keyword, i+1, i+1)
	}
	return fmt.Sprintf(`"$ref":"#/$defs/d0","$defs":{%s"d%d":%s}`, b.String(), n, last)
}

// spent runs f and returns its time and what it allocated.
func spent(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	f()
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc
}

// The bounds of a test are wide: machines that run tests are busy.
const (
	checkTime  = 30 * time.Second
	checkAlloc = 256 << 20
)

// A schema that is dear to compile is refused before it is compiled.
func TestDearSchemasAreRefused(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 70) + "{}" + strings.Repeat("}", 70)
	for name, tc := range map[string]struct{ schema, want string }{
		"many patterns":       {`{"properties":{` + joined(900, `"a%d":{"pattern":"((a{10}){10}){9}%d"}`) + `}}`, "instructions of compiled patterns"},
		"large":               {`{"description":"` + strings.Repeat("a", maxSchemaBytes) + `"}`, "bytes of schemas"},
		"one large pattern":   {`{"properties":{"a":{"pattern":"((a{1000}){3}"}}}`, "pattern"},
		"repeated pattern":    {`{"properties":{"a":{"pattern":"((a{10}){10}){10}|((a{10}){10}){10}|b{900}"}}}`, "repeat less"},
		"long pattern":        {`{"properties":{"a":{"pattern":"` + strings.Repeat("a", 1025) + `"}}}`, "at most 1024"},
		"names as patterns":   {`{"patternProperties":{` + joined(500, `"(a{30}){30}%d":{}`) + `}}`, "instructions of compiled patterns"},
		"far case":            {`{"properties":{"a":{"pattern":"(?i)[a-\\x{10ffff}]"}}}`, "write both cases"},
		"many subschemas":     {`{"allOf":[` + joined(1001, `true`) + `]}`, "subschemas"},
		"deep":                {deep, "too deep"},
		"huge number":         {`{"properties":{"a":{"minimum":1e1000000}}}`, "too many digits"},
		"long number":         {`{"properties":{"a":{"default":` + strings.Repeat("1", 100) + `}}}`, "too many digits"},
		"long paths":          {`{"properties":{"` + strings.Repeat("k", 30000) + `":{"allOf":[` + joined(50, `{}`) + `]}}}`, "bytes of paths"},
		"a loop":              {`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, "itself"},
		"a chain":             {`{` + doubling(40, "allOf", "{}") + `}`, "more than 64 subschemas"},
		"a dynamic reference": {`{"properties":{"a":{"$dynamicRef":"#a","$dynamicAnchor":"a"}}}`, "use $ref"},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			took, alloc := spent(func() { _, err = Compile(json.RawMessage(tc.schema)) })
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %.300v, want one line with %q", err, tc.want)
			}
			if took > checkTime || alloc > checkAlloc {
				t.Errorf("took %v and %d MiB", took, alloc>>20)
			}
			t.Logf("%v, %d KiB", took, alloc>>10)
		})
	}
}

// What a manifest has in all is bounded, not only each of its schemas.
func TestSchemasOfOneManifest(t *testing.T) {
	third := json.RawMessage(`{"properties":{` + joined(400, `"a%d":{}`) + `}}`)
	operations := map[abi.Operation]json.RawMessage{abi.OpFilter: third}
	if err := CheckTogether(third, operations); err != nil {
		t.Fatal(err)
	}
	operations[abi.OpRerank] = third
	if err := CheckTogether(third, operations); err == nil || !strings.Contains(err.Error(), `operation "rerank": settings schema: `) {
		t.Errorf("error %v (want one that names the operation)", err)
	}
}

// A small schema that multiplies work is stopped, and the error says so.
func TestDearSettingsAreStopped(t *testing.T) {
	long, many := strings.Repeat("a", 100_000), make([]any, 10_000)
	for i := range many {
		many[i] = []any{i}
	}
	for name, tc := range map[string]struct {
		schema   string
		settings map[string]any
	}{
		"allOf":         {`{` + doubling(22, "allOf", "{}") + `}`, nil},
		"failing anyOf": {`{"not":` + strings.Replace(doubling(22, "anyOf", `{"required":["x"]}`), `"$ref":"#/$defs/d0"`, `{"$ref":"#/$defs/d0"}`, 1) + `}`, nil},
		"long pattern":  {`{"properties":{"a":{"pattern":"(((a{10}){10}){9})+b"}}}`, map[string]any{"a": long}},
		"long default":  {`{"properties":{"a":{"default":"` + long[:60_000] + `","pattern":"(((a{10}){10}){9})+b"}}}`, nil},
		"long enum":     {`{"properties":{"a":{"items":{"enum":[` + joined(500, `[%d,1]`) + `]}}}}`, map[string]any{"a": many}},
		"many items":    {`{"properties":{"a":{"items":{"items":{"$ref":"#/$defs/d0"}}}},` + strings.TrimPrefix(doubling(6, "anyOf", `{"type":"string"}`), `"$ref":"#/$defs/d0",`) + `}`, map[string]any{"a": many}},
		"names":         {`{"patternProperties":{` + joined(100, `"(a{5}){7}b%d":{}`) + `}}`, map[string]any{long[:5000]: 1}},
		"bytes":         {`{"additionalProperties":true}`, map[string]any{"a": strings.Repeat("a", maxBytes)}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Compile(json.RawMessage(tc.schema))
			if err != nil {
				t.Fatal(err)
			}
			took, alloc := spent(func() { _, _, err = s.Check(tc.settings) })
			if err == nil || !strings.Contains(err.Error(), errWork.Error()) && !strings.Contains(err.Error(), "at most") {
				t.Errorf("error %.300v", err)
			}
			if took > checkTime || alloc > checkAlloc {
				t.Errorf("took %v and %d MiB", took, alloc>>20)
			}
			t.Logf("%v, %d MiB", took, alloc>>20)
		})
	}
}

// Settings that are too deep or hold a huge number are refused before they are checked.
func TestSettingsBounds(t *testing.T) {
	deep := any(1)
	for range maxDepth {
		deep = []any{deep}
	}
	s, err := Compile(json.RawMessage(`{"additionalProperties":true}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, v := range map[string]any{"too deep": deep, "too many digits": json.Number("1e100000")} {
		if _, _, err := s.Check(map[string]any{"a": v}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A schema of usual size, with long settings, is checked as before.
func TestUsualSettingsPass(t *testing.T) {
	languages := joined(200, `"lang-%d"`)
	s, err := Compile(json.RawMessage(`{"$defs":{"tree":{"type":"object","properties":{"name":{"type":"string","pattern":"^[\\p{L}\\p{N} ]{1,64}$"},
		"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"additionalProperties":false}},
		"properties":{"prompt":{"type":"string","minLength":1},"langs":{"items":{"enum":[` + languages + `]}},"tree":{"$ref":"#/$defs/tree"},
		"email":{"pattern":"(?i)^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,10}$"},"max":{"type":"number","default":1.7976931348623157e308},` + joined(100, `"p%d":{"type":"integer","default":%d}`) + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	tree := map[string]any{"name": "root"}
	for range 10 {
		tree = map[string]any{"name": "näme", "kids": []any{tree, map[string]any{"name": "leaf"}}}
	}
	langs := make([]any, 50)
	for i := range langs {
		langs[i] = "lang-150"
	}
	if _, _, err := s.Check(map[string]any{"prompt": strings.Repeat("word ", 20_000), "langs": langs, "tree": tree, "email": "Me@example.com"}); err != nil {
		t.Error(err)
	}
}

// hostile makes a random schema of keywords that multiply.
func hostile(r *rand.Rand, depth, from int) any {
	sub := func() any { return hostile(r, depth-1, from) }
	list := func() (l []any) {
		for range 1 + r.IntN(4) {
			l = append(l, sub())
		}
		return l
	}
	ref := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", from+r.IntN(9-from))}
	if depth <= 0 {
		return []any{true, map[string]any{}, ref, map[string]any{"type": "string"}, map[string]any{"enum": []any{"aaaa", 1, []any{1, 2}}},
			map[string]any{"pattern": fmt.Sprintf("(a{%d}){%d}b", r.IntN(9), 1+r.IntN(9))}}[r.IntN(6)]
	}
	s := map[string]any{}
	for range 1 + r.IntN(3) {
		switch key := []string{"allOf", "anyOf", "oneOf", "not", "if", "items", "properties", "patternProperties", "additionalProperties", "contains",
			"propertyNames", "unevaluatedProperties", "unevaluatedItems", "dependentSchemas", "prefixItems", "$ref", "uniqueItems"}[r.IntN(17)]; key {
		case "allOf", "anyOf", "oneOf", "prefixItems":
			s[key] = list()
		case "properties", "dependentSchemas":
			s[key] = map[string]any{"a": sub(), "b": sub()}
		case "patternProperties":
			s[key] = map[string]any{"a*": sub(), "^(a|b)+$": sub()}
		case "uniqueItems":
			s[key] = true
		case "$ref":
			s[key] = ref[key]
		default:
			s[key] = sub()
		}
	}
	return s
}

// Whatever the schema is, compiling it and checking settings ends soon.
func TestRandomHostileSchemas(t *testing.T) {
	value := any(strings.Repeat("a", 100))
	for i := range 4 {
		value = map[string]any{"a": value, "b": []any{value, value, i}, "aa": 1}
	}
	list := make([]any, 1500)
	for i := range list {
		list[i] = map[string]any{"a": strings.Repeat("a", i%50), "b": []any{i}}
	}
	settings := map[string]any{"a": []any{value, list}, "b": map[string]any{"a": value, "b": list}}
	compiled, stopped := 0, 0
	reasons := map[string]int{}
	var slowest, apply time.Duration
	seeds := uint64(200)
	if os.Getenv("ANCHOR_THOROUGH") == "" {
		seeds = 60
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		doc := map[string]any{"properties": map[string]any{"a": hostile(r, 3, 0), "b": map[string]any{"properties": map[string]any{"a": hostile(r, 3, 0), "b": map[string]any{"items": map[string]any{"$ref": "#/$defs/d0"}}}}}}
		defs := map[string]any{}
		for i := range 8 {
			next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
			defs[fmt.Sprintf("d%d", i)] = []any{hostile(r, 2, i+1), map[string]any{"allOf": []any{next, next, next}}}[max(r.IntN(2), 1-int(seed%4))]
		}
		defs["d8"] = map[string]any{"minLength": 1}
		doc["$defs"] = defs
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var s *Schema
		took, alloc := spent(func() { s, err = Compile(raw) })
		slowest = max(slowest, took)
		if took > checkTime || alloc > checkAlloc {
			t.Fatalf("compiling took %v and %d MiB: %s", took, alloc>>20, raw)
		}
		if err != nil {
			reasons[err.Error()[:min(60, len(err.Error()))]]++
			continue
		}
		compiled++
		took, alloc = spent(func() { _, _, err = s.Check(settings) })
		apply = max(apply, took)
		if took > checkTime || alloc > checkAlloc {
			t.Fatalf("checking took %v and %d MiB: %s", took, alloc>>20, raw)
		}
		if err != nil && strings.Contains(err.Error(), errWork.Error()) {
			stopped++
		} else if err != nil && strings.Contains(err.Error(), "bytes as JSON") {
			t.Fatal(err)
		}
	}
	t.Logf("%d compiled, slowest %v; %d stopped, slowest %v; refused %v", compiled, slowest, stopped, apply, reasons)
	if compiled < int(seeds)/10 || stopped == 0 {
		t.Errorf("%d compiled, %d stopped: the schemas are not hostile, or all are refused", compiled, stopped)
	}
}
