package hostile

import (
	"fmt"
	"strings"
)

// Requests are documents of builds that cost far more than their bytes if nobody counts. Each has
// about n bytes.
var Requests = map[string]func(n int) string{
	"numbers":                    Around(`{"query":{"query_str":"x","metadata":{"a":[`, "1", `]}}}`),
	"longer numbers":             Around(`{"query":{"query_str":"x","metadata":{"a":[`, "12345", `]}}}`),
	"vector":                     Around(`{"query":{"query_str":"x","embedding":[`, "0.1", `]}}`),
	"texts":                      Around(`{"query":{"query_str":"x","metadata":{"a":[`, `""`, `]}}}`),
	"empty lists":                Around(`{"query":{"query_str":"x","metadata":{"a":[`, "[]", `]}}}`),
	"empty maps":                 Around(`{"query":{"query_str":"x","metadata":{"a":[`, "{}", `]}}}`),
	"small maps":                 Around(`{"query":{"query_str":"x","metadata":{"a":[`, `{"a":1}`, `]}}}`),
	"empty items":                Around(`{"query":"x","items":[`, "{}", `]}`),
	"numbers as items":           Around(`{"query":"x","items":[`, "1", `]}`),
	"small items":                Around(`{"query":"x","items":[`, `{"content":"","source":"user"}`, `]}`),
	"items with maps":            Around(`{"query":"x","items":[`, `{"content":"","source":"user","metadata":{"a":1}}`, `]}`),
	"empty turns":                Around(`{"query":"x","conversation":[`, "{}", `]}`),
	"small turns":                Around(`{"query":"x","conversation":[`, `{"role":"user","content":""}`, `]}`),
	"turns of an API":            Around(`{"query":"x","conversation":[`, `{"role":"model","parts":[{"text":""}]}`, `]}`),
	"empty steps":                Around(`{"query":"x","steps":[`, "{}", `]}`),
	"steps":                      Around(`{"query":"x","steps":[`, `{"name":"a","use":"sort"}`, `]}`),
	"steps of missing instances": Around(`{"query":"x","steps":[`, `{"name":"a","use":"b"}`, `]}`),
	"empty members":              Around(`{"query":"x","steps":[{"name":"a","retrievers":[`, `{}`, `]}]}`),
	"system prompts":             Around(`{"query":"x","window":{"system_prompts":[`, `{"content":"x"}`, `]}}`),
	"sources":                    Around(`{"query":"x","steps":[{"name":"a","use":"p","scope":[`, `"user"`, `]}]}`),
	"keywords":                   Around(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{"a":[`, `"x"`, `]}}}]}`),
	"keys":                       Numbered(`{"query":{"query_str":"x","metadata":{`, `"%07d":0`, `}}}`),
	"the same key":               Around(`{"query":{"query_str":"x","metadata":{`, `"a":0`, `}}}`),
	"unknown keys":               Numbered(`{"query":"x",`, `"%07d":0`, `}`),
	"labels":                     Numbered(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{`, `"label-%040d":["x"]`, `}}}]}`),
	"labels and routes": func(n int) string {
		half := Numbered(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{`, `"label-%040d":["x"]`, `}},`)(n / 2)
		return half + Numbered(`"routes":{`, `"route-%040d":{"use":"p"}`, `}}]}`)(n/2)
	},
	"routes to missing retrievers": Numbered(`{"query":"x","steps":[{"name":"a","classifier":{"keywords":{"a":["b"]}},"routes":{`, `"%07d":"r%[1]d"`, `}}]}`),
	"below a long key": func(n int) string {
		return Around(`{"query":{"query_str":"x","metadata":{"`+strings.Repeat("k", n/2)+`":[`, "{}", `,1e999]}}}`)(n / 2)
	},
	"lists below a long key": func(n int) string {
		return Around(`{"query":{"query_str":"x","metadata":{"`+strings.Repeat("k", n/2)+`":[`, "[1]", `,1e999]}}}`)(n / 2)
	},
	"no UTF-8":    func(n int) string { return `{"query":"` + strings.Repeat("\xff", n-12) + `"}` },
	"escapes":     func(n int) string { return `{"query":"` + strings.Repeat(`\u0041`, (n-12)/6) + `"}` },
	"long query":  func(n int) string { return `{"query":"` + strings.Repeat("a b ", (n-12)/4) + `"}` },
	"long number": func(n int) string { return `{"query":"x","window":{"max_tokens":` + strings.Repeat("1", n-40) + `}}` },
	"long name": func(n int) string {
		return `{"query":"x","steps":[{"name":"a","use":"` + strings.Repeat("i", n-60) + `"}]}`
	},
	"long time": func(n int) string {
		return `{"query":"x","items":[{"content":"","source":"user","created_at":"` + strings.Repeat("1", n-80) + `"}]}`
	},
	"deep":   func(n int) string { return `{"query":"x","items":` + strings.Repeat("[", n-30) },
	"commas": func(n int) string { return `{"query":"x","items":[` + strings.Repeat(",", n-30) },
	"quotes": func(n int) string { return `{"query":"` + strings.Repeat(`\"`, (n-30)/2) + `"}` },
	"blanks": func(n int) string { return `{"query":"x"` + strings.Repeat("\n", n-30) + `,"itemz":1}` },
}

// Around repeats an element, with commas, to n bytes.
func Around(before, element, after string) func(int) string {
	return func(n int) string {
		times := max(1, (n-len(before)-len(after))/(len(element)+1))
		return before + strings.Repeat(element+",", times-1) + element + after
	}
}

// Numbered is Around for elements that differ by a number.
func Numbered(before, element, after string) func(int) string {
	return func(n int) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; i == 0 || b.Len() < n-len(after); i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, element, i)
		}
		return b.String() + after
	}
}
