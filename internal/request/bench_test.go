package request

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// manyItems is an honest request with n items of 1 KB.
func manyItems(n int) string {
	var doc strings.Builder
	doc.WriteString(`{"query": "how do deadlines work", "window": {"max_tokens": 4000}, "items": [`)
	for i := range n {
		if i > 0 {
			doc.WriteString(",\n")
		}
		fmt.Fprintf(&doc, `{"id": "item-%d", "content": %q, "source": "retrieval", "score": 0.%d, "metadata": {"title": "Part %d", "page": %d, "tags": ["a", "b"]}}`,
			i, strings.Repeat("a deadline ends a context. ", 36), i%10, i, i)
	}
	doc.WriteString("]}")
	return doc.String()
}

func BenchmarkRead(b *testing.B) {
	for _, n := range []int{50, 1000} {
		doc := manyItems(n)
		b.Run(fmt.Sprint(n, " items"), func(b *testing.B) {
			b.SetBytes(int64(len(doc)))
			b.ReportAllocs()
			for b.Loop() {
				if err := readBench(b, doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func readBench(b *testing.B, doc string) error {
	_, _, err := Read(b.Context(), "request", []byte(doc), config.Default())
	return err
}
