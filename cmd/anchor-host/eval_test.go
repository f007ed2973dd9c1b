package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// A collection of documents of 4, 3, 5 and 1 words.
var evalFiles = map[string]string{
	"corpus.jsonl": `{"_id": "d1", "title": "Roses", "text": "aphids love roses"}
{"_id": "d2", "title": "", "text": "tomatoes need water"}
{"_id": "d3", "title": "Bread", "text": "flour water salt yeast"}
{"_id": "d4", "title": "", "text": "snails"}
`,
	"queries.jsonl": `{"_id": "q1", "text": "aphids on roses"}
{"_id": "q2", "text": "water for tomatoes"}
{"_id": "q3", "text": "not judged"}
`,
	"qrels.tsv":   "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td4\t1\nq2\td2\t1\nq2\td3\t1\nq2\td1\t0\n",
	"anchor.yaml": "window: {max_tokens: 8, include_query: false}\ncounting: {tokenizer: words}\nsteps:\n  - {name: first, use: top_k, top_k: 3}\n",
	"other.yaml":  "window: {max_tokens: 100}\ncounting: {tokenizer: words}\nsteps:\n  - {name: all, use: top_k, top_k: 4}\n",
}

// evalArgs are the arguments that name the files of the tests.
func evalArgs(more ...string) []string {
	return append([]string{"eval", "--corpus", "corpus.jsonl", "--queries", "queries.jsonl", "--qrels", "qrels.tsv"}, more...)
}

// The whole way with built-in steps, in full. Of the first three documents d1 and
// d2 fill 7 of the 8 words; d3 is left out, d4 taken away before.
func TestEvalGolden(t *testing.T) {
	t.Chdir(write(t, evalFiles))
	var b strings.Builder
	for _, args := range [][]string{
		{"--corpus-items", "--k", "1,3", "--metric", "recall,ndcg,mrr"},
		{"--corpus-items", "--k", "2", "--metric", "ndcg", "--compare", "other.yaml", "--limit", "1"},
	} {
		code, stdout, stderr := run(t, "", evalArgs(args...)...)
		if code != codeOK {
			t.Fatalf("%v: code %d, %s", args, code, stderr)
		}
		b.WriteString("$ anchor-host eval " + strings.Join(args, " ") + "\n" + stdout + "\n")
	}
	golden(t, "eval.golden", b.String())
}

// The help of the command, in full.
func TestEvalHelpGolden(t *testing.T) {
	code, stdout, stderr := run(t, "", "eval", "--help")
	if code != codeOK || stderr != "" {
		t.Errorf("code %d, %s", code, stderr)
	}
	golden(t, "eval-help.golden", stdout)
}

// testdataDir is where golden files are; tests change the folder.
var testdataDir = func() string {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		panic(err)
	}
	return dir
}()

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(testdataDir, name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("differs from %s (if it is right: go test -update):\n%s", path, got)
	}
}

func TestEvalErrors(t *testing.T) {
	files := map[string]string{
		"bad.jsonl":   `{"_id": "d1", "text": "x"}` + "\n{",
		"missing.tsv": "q1\td1\t1\nq1\td9\t1\n",
		"empty.yaml":  "counting: {tokenizer: words}\n",
		"gone.yaml":   "steps: [{name: x, use: gone, operation: filter}]",
		"slow.yaml":   "timeout: 1ns\nsteps: [{name: x, use: top_k}]",
	}
	for name, content := range evalFiles {
		files[name] = content
	}
	t.Chdir(write(t, files))
	replace := func(old, new string) []string {
		args := evalArgs("--corpus-items")
		for i := range args {
			if args[i] == old {
				args[i] = new
			}
		}
		return args
	}
	for _, c := range []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"no files", []string{"eval"}, codeUsage, `anchor-host: at least one of the flags in the group [questions corpus] is required (see: anchor-host eval --help)`},
		{"unknown metric", evalArgs("--metric", "bleu"), codeUsage, `anchor-host: invalid metric: "bleu" (want some of recall, `},
		{"no depth", evalArgs("--k", "0"), codeUsage, `anchor-host: invalid metric: depths [0] (want whole numbers from 1 to 1048576) (see: anchor-host eval --help)`},
		{"unknown output", evalArgs("-o", "xml"), codeUsage, `anchor-host: flag --output: want one of table, json, got "xml"`},
		{"negative limit", evalArgs("--limit", "-1"), codeUsage, `anchor-host: flag --limit: want a whole number, 0 or more, got -1`},
		{"mount and items", evalArgs("--mount", "x", "--corpus-items"), codeUsage, "anchor-host: if any flags in the group [mount corpus-items] are set none of the others can be"},
		{"no corpus", replace("corpus.jsonl", "none"), codeNotFound, "anchor-host: read corpus: open none: no such file or directory"},
		{"bad corpus", replace("corpus.jsonl", "bad.jsonl"), codeInvalid, `anchor-host: bad.jsonl:2: unexpected end of JSON input (want {"_id": "text", "text": "text"})`},
		{"a judged document is missing", replace("qrels.tsv", "missing.tsv"), codeInvalid, `anchor-host: missing.tsv:2: document "d9" of query "q1" is not in the corpus (are the files of one collection? `},
		{"no step", evalArgs("-c", "empty.yaml"), codeInvalid, "anchor-host: no step was observed: "},
		{"no other configuration", evalArgs("--compare", "none.yaml"), codeNotFound, "anchor-host: compare: read configuration: open none.yaml: no such file or directory (give --compare the file of another configuration)"},
		{"no such instance", evalArgs("--mount", "docs"), codeInvalid, `anchor-host: invalid: --mount docs: anchor.yaml has no instance "docs" (name an entry of its instances)`},
		{"no such instance in either", evalArgs("--mount", "docs", "--compare", "other.yaml"), codeInvalid, `anchor-host: invalid: --mount docs: neither anchor.yaml nor other.yaml has an instance "docs" (name an entry of its instances)`},
		{"a step is skipped", evalArgs("-c", "gone.yaml", "--corpus-items", "--strict"), codeDegraded, `anchor-host: warning: gone.yaml: step "x" was skipped for 2 of 2 queries: `},
		{"a build takes too long", evalArgs("-c", "slow.yaml", "--corpus-items"), codeLimit, `anchor-host: query "q`},
		{"no folder for the page", evalArgs("--corpus-items", "--html", "none/page.html"), codeNotFound, "anchor-host: write report: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", c.args...)
			if code != c.code || !strings.Contains("\n"+stderr, "\n"+c.stderr) {
				t.Errorf("code %d, want %d; stderr:\n%s\nwant the line\n%s", code, c.code, stderr, c.stderr)
			}
			if code != codeDegraded && stdout != "" {
				t.Errorf("stdout %q", stdout)
			}
		})
	}
}

// A judgement of a document that does not exist counts when that is allowed, and a
// corpus can come from stdin.
func TestEvalAllowMissing(t *testing.T) {
	t.Chdir(write(t, evalFiles))
	if err := os.WriteFile("qrels.tsv", []byte("q1\td1\t1\nq1\td9\t1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"eval", "--corpus", "-", "--queries", "queries.jsonl", "--qrels", "qrels.tsv", "--corpus-items", "--allow-missing", "-o", "json", "-c", "other.yaml"}
	code, stdout, stderr := run(t, evalFiles["corpus.jsonl"], args...)
	r := evalReport(t, code, stdout, stderr)
	if got := r.Stages[1].Metrics["recall"]; got != 0.5 || r.MissingDocuments != 1 || r.Unjudged != 2 {
		t.Errorf("recall %v, counts %+v", got, r.Counts)
	}
}

func evalReport(t *testing.T, code int, stdout, stderr string) *eval.Report {
	t.Helper()
	if code != codeOK {
		t.Fatalf("code %d, %s", code, stderr)
	}
	var r eval.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// A retriever plugin is given the corpus and nothing else of its folder, its ids
// are found, and the page is written.
func TestEvalWithRetriever(t *testing.T) {
	config, err := filepath.Abs("../../anchor/eval/testdata/bm25.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(write(t, evalFiles))
	flags := []string{"-c", config, "--plugins", testbuild.Examples(t, "bm25-retriever"), "--cache-dir", testbuild.CacheDir(t), "--mount", "docs"}
	for _, id := range []string{"doc_id", "none"} { // by metadata, and by the item's own id
		code, stdout, stderr := run(t, "", evalArgs(append(flags, "-o", "json", "--html", "page.html", "--id-metadata", id)...)...)
		r := evalReport(t, code, stdout, stderr)
		if len(r.Warnings) > 0 || r.Stages[0].Name != "bm25" || r.Stages[0].Metrics["hit@1"] != 1 || r.Stages[1].Metrics["recall"] != 0.75 {
			t.Errorf("%s: %+v, warnings %q", id, r.Stages, r.Warnings)
		}
		if !strings.Contains(stderr, "anchor-host: wrote page.html\n") {
			t.Errorf("stderr %s", stderr)
		}
	}
	compareMounts(t, config, flags)
	page, err := os.ReadFile("page.html")
	if err != nil || !bytes.HasPrefix(page, []byte("<!DOCTYPE html>")) {
		t.Errorf("page %.30q, %v", page, err)
	}
	if data := os.Getenv("ANCHOR_DATA_DIR"); data != "" {
		t.Run("scifact", func(t *testing.T) { checkSciFact(t, flags, filepath.Join(data, "scifact")) })
	}
}

// compareMounts compares two configurations of which only one has the instance that a
// mount is for. Refusing that would make it impossible to measure what a plugin brings
// against a configuration without it.
func compareMounts(t *testing.T, config string, flags []string) {
	t.Helper()
	both, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	renamed := strings.NewReplacer("  docs:", "  texts:", "use: docs", "use: texts").Replace(string(both))
	if err := os.WriteFile("texts.yaml", []byte(renamed), 0o644); err != nil {
		t.Fatal(err)
	}
	flags = append(flags, "--mount", "texts", "-o", "json", "--compare")
	code, stdout, stderr := run(t, "", evalArgs(append(flags, "texts.yaml")...)...)
	r := evalReport(t, code, stdout, stderr)
	for _, one := range []*eval.Report{r, r.Compare.Report} {
		if got := one.Stages[0].Metrics["hit@1"]; got != 1 || len(one.Warnings) > 0 {
			t.Errorf("%s: hit@1 %v, want 1; warnings %q", one.Config, got, one.Warnings)
		}
	}
	code, _, stderr = run(t, "", evalArgs(append(flags, "other.yaml")...)...)
	if code != codeInvalid || !strings.Contains(stderr, `other.yaml has an instance "texts"`) {
		t.Errorf("neither has the instance: code %d, %s", code, stderr)
	}
}

// checkSciFact holds BM25 on SciFact to what Lucene reaches, and sees the budget
// cut lose recall.
func checkSciFact(t *testing.T, flags []string, dir string) {
	code, stdout, stderr := run(t, "", append([]string{
		"eval", "-o", "json", "--corpus", filepath.Join(dir, "corpus.jsonl"),
		"--queries", filepath.Join(dir, "queries.jsonl"), "--qrels", filepath.Join(dir, "qrels.tsv"),
	}, flags...)...)
	r := evalReport(t, code, stdout, stderr)
	found, window := r.Stages[0].Metrics, r.Stages[1].Metrics
	t.Logf("nDCG@10 %.4f, recall %.4f, in the window %.4f", found["ndcg@10"], found["recall"], window["recall"])
	if r.Evaluated != 300 || found["ndcg@10"] < 0.678 || window["recall"] >= found["recall"] {
		t.Errorf("%d queries, found %v, window %v", r.Evaluated, found, window)
	}
}

// A user's own questions take three commands: init, an editor, eval.
func TestEvalOfOwnQuestions(t *testing.T) {
	dir := write(t, map[string]string{
		"docs/roses.md":  "# Roses\n\n## Aphids\n\nSoap water drives aphids away.\n\n## Pruning\n\nCut in spring, above a bud.\n",
		"docs/bread.md":  "# Bread\n\n## Sourdough\n\nFeed the starter each day with flour and water.\n",
		"docs/plain.txt": "The shed is locked at night. Ask for the key.\n",
		"anchor.yaml":    "store: {path: store.db}\nretrievers: {docs: {collection: docs}}\nsteps: [{name: docs, use: docs, top_k: 3}]\n",
	})
	t.Chdir(dir)
	if code, _, stderr := run(t, "", "ingest", "docs", "--collection", "docs"); code != codeOK {
		t.Fatal(stderr)
	}
	code, stdout, stderr := run(t, "", "eval", "init", "docs")
	if code != codeOK || !strings.Contains(stdout, "What about Aphids in Roses?") || !strings.Contains(stdout, "Is it true that The shed is locked at night?") || !strings.Contains(stderr, "edit them, then anchor-host eval --questions questions.jsonl") {
		t.Fatalf("code %d, %s, %s", code, stdout, stderr)
	}
	code, stdout, stderr = run(t, "", "eval", "--questions", "questions.jsonl", "--k", "3", "--metric", "recall")
	if code != codeOK || !strings.Contains(stdout, "1.000") || !strings.Contains(stderr, "questions are as eval init wrote them") {
		t.Errorf("code %d, %s, %s", code, stdout, stderr)
	}
	// Once edited, there is no warning.
	edited := `{"question": "What helps against lice on flowers, soap?", "documents": ["docs/roses.md"], "collection": "docs"}` + "\n"
	if err := os.WriteFile("questions.jsonl", []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr = run(t, "", "eval", "--questions", "questions.jsonl"); code != codeOK || strings.Contains(stderr, "warning") {
		t.Errorf("code %d, %s", code, stderr)
	}
	for want, args := range map[string][]string{
		"give --file a file that does not exist":                      {"eval", "init", "docs"},
		"no such collection":                                          {"eval", "init", "books"},
		"want 1 to 1000":                                              {"eval", "init", "docs", "--count", "0"},
		"questions corpus":                                            {"eval"},
		"if any flags in the group [questions corpus] are set":        {"eval", "--questions", "q", "--corpus", "c", "--queries", "q", "--qrels", "q"},
		`document "docs/lilies.md" of query "1" is not in the corpus`: {"eval", "--questions", "wrong.jsonl"},
	} {
		if err := os.WriteFile("wrong.jsonl", []byte(strings.Replace(edited, "roses", "lilies", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, stderr := run(t, "", args...); code == codeOK || !strings.Contains(stderr, want) {
			t.Errorf("%v: code %d, %s, want %s", args, code, stderr, want)
		}
	}
}
