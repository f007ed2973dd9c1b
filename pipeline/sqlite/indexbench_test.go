package sqlite

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// zipf makes texts whose words are as unevenly frequent as those of a language.
type zipf struct {
	r     *rand.Rand
	words *rand.Zipf
}

func newZipf() *zipf {
	r := rand.New(rand.NewPCG(1, 2))
	return &zipf{r, rand.NewZipf(r, 1.1, 5, 100_000)}
}

func (z *zipf) text(words int) string {
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "w%x ", z.words.Uint64())
	}
	return b.String()
}

func (z *zipf) vector(dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(z.r.NormFloat64())
	}
	return v
}

func (z *zipf) documents(from, n, dim int) []retrieve.Document {
	docs := make([]retrieve.Document, n)
	for i := range docs {
		docs[i] = retrieve.Document{ID: fmt.Sprintf("doc%07d", from+i), Chunks: []retrieve.Chunk{{Text: z.text(150)}}}
		if dim > 0 {
			docs[i].Chunks[0].Vector = z.vector(dim)
		}
	}
	return docs
}

// BenchmarkIndexSearch asks what a query costs: of eight words, of a vector of 256
// dimensions, and of both.
func BenchmarkIndexSearch(b *testing.B) {
	for _, form := range []retrieve.VectorForm{retrieve.VectorsF32, retrieve.VectorsInt8} {
		for _, n := range []int{5_000, 100_000} {
			if testing.Short() && n > 5_000 {
				continue
			}
			s := mustOpen(b, filepath.Join(b.TempDir(), "store.db"), Options{Sync: Normal})
			x, c, z := s.Index(), retrieve.Collection{Tenant: "t", Name: "c"}, newZipf()
			if err := x.Create(b.Context(), c, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 256}, Vectors: form}); err != nil {
				b.Fatal(err)
			}
			for from := 0; from < n; from += 5_000 {
				if err := x.Upsert(b.Context(), c, z.documents(from, 5_000, 256)...); err != nil {
					b.Fatal(err)
				}
			}
			for _, by := range []retrieve.By{retrieve.ByWords, retrieve.ByVectors, retrieve.ByHybrid} {
				b.Run(fmt.Sprintf("%s/chunks=%d/by=%s", form, n, by), func(b *testing.B) {
					for b.Loop() {
						hits, err := x.Search(b.Context(), c, retrieve.Query{By: by, Text: z.text(8), Vector: z.vector(256)})
						if err != nil || len(hits) != 10 || math.IsNaN(hits[0].Score) {
							b.Fatalf("%d hits, %v", len(hits), err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkIndexCold asks what the first query of a process costs.
func BenchmarkIndexCold(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	c, z := retrieve.Collection{Tenant: "t", Name: "c"}, newZipf()
	s := mustOpen(b, path, Options{Sync: Normal})
	if err := s.Index().Create(b.Context(), c, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 256}}); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < 20_000; from += 5_000 {
		if err := s.Index().Upsert(b.Context(), c, z.documents(from, 5_000, 256)...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s, err := Open(b.Context(), path, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Index().Search(b.Context(), c, retrieve.Query{Text: z.text(8)}); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// sources are 16 MB of Go code as documents, in chunks of about 1,500 bytes.
func sources(b *testing.B, z *zipf, dim int) (docs []retrieve.Document, size int) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip("no sources of Go: ", err)
	}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || size > 16<<20 {
			return err
		}
		data, err := os.ReadFile(path)
		d := retrieve.Document{ID: path}
		for text := string(data); text != ""; {
			n := min(len(text), 1500)
			c := retrieve.Chunk{Text: text[:n]}
			if dim > 0 {
				c.Vector = z.vector(dim)
			}
			d.Chunks, text = append(d.Chunks, c), text[n:]
		}
		docs, size = append(docs, d), size+len(data)
		return err
	})
	if err != nil || size < 16<<20 {
		b.Skipf("no sources of Go: %d bytes, %v", size, err)
	}
	return docs, size
}

// BenchmarkIndexIngest asks how many bytes of text a second are written, in batches of
// about 2 MiB, with all merges.
func BenchmarkIndexIngest(b *testing.B) {
	for _, dim := range []int{0, 256} {
		b.Run(fmt.Sprintf("dimensions=%d", dim), func(b *testing.B) {
			docs, size := sources(b, newZipf(), dim)
			b.SetBytes(int64(size))
			for b.Loop() {
				s := mustOpen(b, filepath.Join(b.TempDir(), "store.db"), Options{})
				c := retrieve.Collection{Tenant: "t", Name: "c"}
				set := retrieve.Settings{}
				if dim > 0 {
					set.Model = retrieve.Model{ID: "m", Dimension: dim}
				}
				if err := s.Index().Create(b.Context(), c, set); err != nil {
					b.Fatal(err)
				}
				for from, bytes := 0, 0; from < len(docs); bytes = 0 {
					to := from
					for ; to < len(docs) && bytes < 2<<20; to++ {
						bytes += docs[to].Bytes()
					}
					if err := s.Index().Upsert(b.Context(), c, docs[from:to]...); err != nil {
						b.Fatal(err)
					}
					from = to
				}
			}
		})
	}
}
