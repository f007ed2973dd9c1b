// dump ingests paths into a fake index and prints a digest of every document.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

type fake struct{ retrieve.Index }

func (fake) Collection(context.Context, retrieve.Collection) (i retrieve.CollectionInfo, err error) {
	return i, retrieve.ErrNotFound
}
func (fake) Create(context.Context, retrieve.Collection, retrieve.Settings) error { return nil }
func (fake) Documents(context.Context, retrieve.Collection, retrieve.IDs) iter.Seq2[retrieve.DocumentInfo, error] {
	return func(func(retrieve.DocumentInfo, error) bool) {}
}
func (fake) Upsert(_ context.Context, _ retrieve.Collection, docs ...retrieve.Document) error {
	if quiet {
		return nil
	}
	for i := range docs {
		b, _ := json.Marshal(docs[i])
		fmt.Printf("%s %d %x\n", docs[i].ID, len(docs[i].Chunks), sha256.Sum256(b))
	}
	return nil
}

var quiet = os.Getenv("QUIET") != ""

func main() {
	var sources []ingest.Source
	for _, p := range os.Args[2:] {
		sources = append(sources, ingest.Source{Path: p})
	}
	o := ingest.Options{Collection: retrieve.Collection{Name: "c", Tenant: "t"}, Chunk: chunk.Options{By: chunk.By(os.Args[1])},
		Failed: func(e *ingest.FileError) { fmt.Printf("FAILED %s\n", strings.ReplaceAll(e.Error(), "\n", " ")) }}
	if os.Args[1] == "tokens" {
		o.Chunk.Overlap = 16
	}
	if os.Args[1] == "semantic" {
		o.Embedder = letters{}
	}
	for _, s := range sources {
		began := time.Now()
		var u0, u1 syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u0)
		r, err := ingest.Run(context.Background(), fake{}, []ingest.Source{s}, o)
		syscall.Getrusage(syscall.RUSAGE_SELF, &u1)
		runtime.GC()
		fmt.Fprintf(os.Stderr, "%s %s: files %d failed %d chunks %d err %v wall %v cpu %v rss %d MB\n", os.Args[1], s.Path, r.Files, r.Failed, r.Chunks, err, time.Since(began).Round(time.Millisecond),
			time.Duration(u1.Utime.Nano()+u1.Stime.Nano()-u0.Utime.Nano()-u0.Stime.Nano()).Round(time.Millisecond), u1.Maxrss>>10)
	}
}

type letters struct{}

func (letters) Model(context.Context) (retrieve.Model, error) { return retrieve.Model{ID: "l", Dimension: 4}, nil }
func (letters) Embed(_ context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		v := []float32{1, 0, 0, 0}
		for k := 0; k < len(t); k++ {
			v[int(t[k])%4]++
		}
		out[i] = v
	}
	return out, nil
}
