package quota_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/quota"
)

// role makes the test binary a service, or clients that flood the service at roleAddress.
// [BenchmarkFlood] starts both as processes of their own: else they would share one scheduler.
const role, roleAddress = "ANCHOR_TEST_ROLE", "ANCHOR_TEST_ADDRESS"

func TestMain(m *testing.M) {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	untilEOF := func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}
	switch os.Getenv(role) {
	case "serve":
		go untilEOF()
		serve(ctx)
	case "flood":
		go untilEOF()
		var done atomic.Int64
		var clients sync.WaitGroup
		for range 32 {
			clients.Go(func() { send(ctx, os.Getenv(roleAddress), "flood", 0, &done) })
		}
		clients.Wait()
		fmt.Println(done.Load())
	default:
		os.Exit(m.Run())
	}
}

type tenantHeader struct{}

func (tenantHeader) Authenticate(r *http.Request) (server.Principal, error) {
	return server.Principal{Tenant: r.Header.Get("Tenant"), Scopes: []string{server.ScopeBuild}}, nil
}

// check ends a process of the benchmark that cannot do its part.
func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(ctx context.Context) {
	dir, err := os.MkdirTemp("", "flood")
	check(err)
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "anchor.yaml")
	check(os.WriteFile(path, []byte("counting: {tokenizer: words}\npipelines: {p: {window: {max_tokens: 3000}, steps: [{name: s, use: sort}, {name: k, use: top_k, top_k: 30}]}}\n"), 0o600))
	app, err := anchor.Load(path, anchor.Options{CacheDir: "off"})
	check(err)
	s, err := server.New(app, server.Options{
		Listen: "127.0.0.1:0", AdminListen: "none", Unwatched: true, DrainDelay: -1, Authenticator: tenantHeader{},
		Admission: quota.New(quota.Options{}), OnListen: func(data, _ net.Addr) { fmt.Println(data) },
	})
	check(err)
	check(s.Run(ctx))
	check(app.Close(context.Background()))
}

// floodRequest is a request with 50 items.
func floodRequest(tenant string) []byte {
	var b strings.Builder
	b.WriteString(`{"query": "how do deadlines work", "pipeline": "p", "items": [`)
	for i := range 50 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id": "doc-%d", "content": "%s", "source": "retrieval", "score": 0.%d, "metadata": {"path": "docs/%d.md", "line": %d}}`, i, strings.Repeat("a deadline ends a build when its time is up ", 10), 10+i, i, i)
	}
	b.WriteString("]}")
	return fmt.Appendf(nil, "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nTenant: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", tenant, b.Len(), b.String())
}

// send sends one request after another until ctx ends, and counts those that succeed. It does no more
// than it must, because it uses the processors of the service.
func send(ctx context.Context, address, tenant string, pause time.Duration, done *atomic.Int64) {
	conn, err := net.Dial("tcp", address)
	check(err)
	defer func() { _ = conn.Close() }()
	in := bufio.NewReaderSize(conn, 64<<10)
	request := floodRequest(tenant)
	for ctx.Err() == nil {
		_, err := conn.Write(request)
		check(err)
		status, length := "", 0
		for line := ""; line != "\r\n"; {
			line, err = in.ReadString('\n')
			check(err)
			if status == "" {
				status = line
			}
			if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
				length, err = strconv.Atoi(strings.TrimSpace(n))
				check(err)
			}
		}
		_, err = in.Discard(length)
		check(err)
		if strings.Contains(status, " 200 ") {
			done.Add(1)
		}
		time.Sleep(pause)
	}
}

// child starts the test binary in a role, and returns its output. end tells it to end, and wait waits for
// that, when its output was read.
func child(b *testing.B, as, address string) (out *bufio.Reader, end, wait func()) {
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), role+"="+as, roleAddress+"="+address), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return bufio.NewReader(stdout), func() { _ = stdin.Close() }, func() {
		if err := cmd.Wait(); err != nil {
			b.Error(as, err)
		}
	}
}

// BenchmarkFlood measures what is left of the throughput of a client beside 32 clients of another
// tenant that flood, on the same machine. A client without pauses needs a whole processor, also for
// itself. The phases take turns, so that other work on the machine counts for both.
func BenchmarkFlood(b *testing.B) {
	if testing.Short() {
		b.Skip("short: it takes seconds and all processors")
	}
	for _, pause := range []time.Duration{0, 5 * time.Millisecond} {
		b.Run(fmt.Sprintf("pause=%v", pause), func(b *testing.B) {
			out, end, wait := child(b, "serve", "")
			defer wait()
			defer end()
			address, err := out.ReadString('\n')
			if err != nil {
				b.Fatal(err)
			}
			address = strings.TrimSpace(address)
			phase := func(done *atomic.Int64) {
				ctx, cancel := context.WithTimeout(b.Context(), time.Second)
				defer cancel()
				send(ctx, address, "good", pause, done)
			}
			var warm, alone, beside atomic.Int64
			flood := 0
			phase(&warm)
			b.ResetTimer()
			for range b.N {
				phase(&alone)
				flooded, end, wait := child(b, "flood", address)
				phase(&beside)
				end()
				n := 0
				if _, err := fmt.Fscan(flooded, &n); err != nil {
					b.Error(err)
				}
				wait()
				flood += n
			}
			n := float64(b.N)
			b.ReportMetric(float64(alone.Load())/n, "builds/s-alone")
			b.ReportMetric(float64(beside.Load())/n, "builds/s-beside")
			b.ReportMetric(float64(flood)/n, "builds/s-flood")
			b.ReportMetric(100*float64(beside.Load())/float64(max(1, alone.Load())), "%-kept")
		})
	}
}
