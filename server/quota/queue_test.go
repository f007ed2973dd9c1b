package quota

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// load is a tenant with clients that each send one request after another.
type load struct {
	tenant  string
	clients int
	build   time.Duration // on average
	pause   time.Duration
}

// throughput runs loads on a queue for some seconds and returns how many builds each had, and how much
// of the time of all places was used. A client that is refused tries again after 20 ms: it does not
// listen.
const seconds = 5

func throughput(t *testing.T, places int, loads ...load) (done []int, used float64) {
	done = make([]int, len(loads))
	synctest.Test(t, func(t *testing.T) {
		const length = seconds * time.Second
		q := NewQueue(QueueOptions{Builds: places, Waiting: 100})
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		var busy atomic.Int64
		var clients sync.WaitGroup
		counts := make([]atomic.Int64, len(loads))
		for i, l := range loads {
			for c := range l.clients {
				clients.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), uint64(c)))
					time.Sleep(time.Duration(random.Int64N(int64(l.build))))
					for ctx.Err() == nil {
						release, err := q.Wait(context.WithoutCancel(ctx), l.tenant, 1000)
						if err != nil {
							time.Sleep(20 * time.Millisecond)
							continue
						}
						took := l.build/2 + time.Duration(random.Int64N(int64(l.build)))
						time.Sleep(took)
						release()
						if ctx.Err() == nil {
							counts[i].Add(1)
							busy.Add(int64(took))
						}
						time.Sleep(l.pause)
					}
				})
			}
		}
		clients.Wait()
		time.Sleep(time.Second)
		q.isEmpty(t)
		for i := range done {
			done[i] = int(counts[i].Load())
		}
		used = float64(busy.Load()) / float64(length) / float64(places)
	})
	return done, used
}

// isEmpty checks that nothing is left of the requests that were there.
func (q *Queue) isEmpty(t *testing.T) {
	t.Helper()
	if left := q.left(); left != "" {
		t.Error("left:", left)
	}
}

// left says what is left of requests, nothing if there is none.
func (q *Queue) left() string {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running == 0 && q.waiting == 0 && q.bytes == 0 && len(q.queued) == 0 && len(q.keeping) == 0 && len(q.shares) == 0 && q.ahead.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%d running, %d waiting, %d bytes, %d queued, %d keeping, %d shares, %d ahead",
		q.running, q.waiting, q.bytes, len(q.queued), len(q.keeping), len(q.shares), q.ahead.Len())
}

// A flood costs another tenant, which uses no more than its share, at most a tenth of its
// throughput, and the places stay in use.
func TestAFloodCostsOthersATenth(t *testing.T) {
	for _, c := range []struct {
		places, clients  int
		flooders, floods int
		build, pause     time.Duration
		floodBuild       time.Duration
	}{
		{2, 1, 1, 150, 10 * time.Millisecond, time.Millisecond, 10 * time.Millisecond},
		{4, 1, 1, 150, 10 * time.Millisecond, time.Millisecond, 10 * time.Millisecond},
		{4, 2, 1, 150, 10 * time.Millisecond, time.Millisecond, 10 * time.Millisecond},
		{8, 4, 1, 150, 10 * time.Millisecond, 2 * time.Millisecond, 10 * time.Millisecond},
		{16, 8, 1, 150, 10 * time.Millisecond, time.Millisecond, 10 * time.Millisecond},
		{8, 4, 1, 150, 10 * time.Millisecond, 0, 10 * time.Millisecond},
		{8, 2, 1, 150, 10 * time.Millisecond, time.Millisecond, 100 * time.Millisecond}, // long builds flood
		{8, 4, 1, 150, 100 * time.Millisecond, 10 * time.Millisecond, 5 * time.Millisecond},
		{8, 1, 7, 20, 10 * time.Millisecond, time.Millisecond, 10 * time.Millisecond}, // seven flood
		{16, 1, 50, 10, 10 * time.Millisecond, 100 * time.Millisecond, 10 * time.Millisecond},
	} {
		name := fmt.Sprintf("%d places, %d clients with builds of %v and pauses of %v, %d floods of %d with %v",
			c.places, c.clients, c.build, c.pause, c.flooders, c.floods, c.floodBuild)
		t.Run(name, func(t *testing.T) {
			good := load{"good", c.clients, c.build, c.pause}
			loads := []load{good}
			for i := range c.flooders {
				loads = append(loads, load{fmt.Sprint("flood", i), c.floods, c.floodBuild, 0})
			}
			alone, _ := throughput(t, c.places, good)
			beside, used := throughput(t, c.places, loads...)
			kept := float64(beside[0]) / float64(alone[0])
			t.Logf("alone %d, beside the floods %d: %.1f %%; places in use: %.1f %%", alone[0], beside[0], 100*kept, 100*used)
			if kept < 0.9 {
				t.Errorf("%.1f %% is left, want 90", 100*kept)
			}
			if used < 0.85 {
				t.Errorf("only %.1f %% of the places are used", 100*used)
			}
		})
	}
}

// Tenants that all want everything get the same time, whatever their builds take and however many
// requests they send.
func TestTimeIsShared(t *testing.T) {
	for _, places := range []int{1, 2, 3, 8} {
		loads := []load{{"short", 20, 5 * time.Millisecond, 0}, {"long", 5 * places, 80 * time.Millisecond, 0}, {"many", 100, 20 * time.Millisecond, 0}}
		done, used := throughput(t, places, loads...)
		for i, l := range loads {
			share := float64(done[i]) * l.build.Seconds() / seconds / float64(places)
			t.Logf("%d places, %s: %.3f of the time", places, l.tenant, share)
			if share < 0.3 || share > 0.37 {
				t.Errorf("%d places: %s has %.3f of the time, want a third", places, l.tenant, share)
			}
		}
		if used < 0.95 {
			t.Errorf("%d places: %.3f used", places, used)
		}
	}
}

// hold takes all places of a queue for a tenant.
func hold(t *testing.T, q *Queue, tenant string) (releases []func()) {
	t.Helper()
	for range q.options.Builds {
		release, err := q.Wait(t.Context(), tenant, 1)
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	return releases
}

// A full queue refuses the newest request of who waits with most, by number and by size.
func TestFullQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(QueueOptions{Builds: 1, Waiting: 4, Bytes: 1000})
		release := hold(t, q, "x")[0]
		answers := make(chan string, 100)
		send := func(tenant string, n int, bytes int64) {
			go func() {
				free, err := q.Wait(t.Context(), tenant, bytes)
				if err != nil {
					r := refusal(t, err)
					if r.Status != http.StatusServiceUnavailable || r.RetryAfter < time.Second {
						t.Errorf("%+v", r)
					}
					answers <- fmt.Sprint(tenant, n, " refused")
					return
				}
				answers <- fmt.Sprint(tenant, n, " runs")
				free()
			}()
			synctest.Wait()
		}
		expect := func(want string) {
			t.Helper()
			select {
			case got := <-answers:
				if got != want {
					t.Fatalf("%s, want %s", got, want)
				}
			default:
				t.Fatalf("no answer, want %s", want)
			}
		}
		for i := range 4 {
			send("a", i, 10)
		}
		send("a", 4, 10)
		expect("a4 refused") // it is a itself that has most
		send("b", 0, 10)
		expect("a3 refused")
		send("c", 0, 900)
		expect("a2 refused") // for the number
		send("c", 1, 2000)
		expect("c1 refused") // would never fit
		send("d", 0, 150)
		expect("c0 refused") // for the size
		release()
		synctest.Wait()
		for _, want := range []string{"a0 runs", "b0 runs", "d0 runs", "a1 runs"} {
			expect(want)
		}
		time.Sleep(time.Second)
		q.isEmpty(t)
	})
}

// Who cannot have its turn before its deadline is refused at once, who leaves is forgotten.
func TestDeadlinesAndClientsThatLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(QueueOptions{Builds: 2})
		for range 50 { // builds take a second
			release, err := q.Wait(t.Context(), "x", 1)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			release()
		}
		releases := hold(t, q, "x")
		start := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := q.Wait(short, "a", 1)
		if r := refusal(t, err); r.Status != http.StatusServiceUnavailable || time.Since(start) != 0 {
			t.Errorf("%+v after %v, want to be refused at once", r, time.Since(start))
		}
		long, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if _, err := q.Wait(long, "a", 1); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %v, want the deadline", err, time.Since(start))
		}
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() { _, err := q.Wait(gone, "a", 1); left <- err }()
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := q.Wait(gone, "a", 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		for _, release := range releases {
			release()
		}
		time.Sleep(time.Second)
		q.isEmpty(t)
	})
}

// Requests that end in every way at the same moment leave nothing behind.
func TestQueueUnderStress(t *testing.T) {
	q := NewQueue(QueueOptions{Builds: 3, Waiting: 10, Bytes: 5000})
	var clients sync.WaitGroup
	var running, most atomic.Int64
	for c := range 24 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for range 300 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(2000))*time.Microsecond)
				release, err := q.Wait(ctx, fmt.Sprint(c%5), int64(random.IntN(2000)))
				if err == nil {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Duration(random.IntN(200)) * time.Microsecond)
					running.Add(-1)
					release()
				}
				cancel()
			}
		})
	}
	clients.Wait()
	if most.Load() > 3 {
		t.Errorf("%d builds at the same time", most.Load())
	}
	if !await.True(func() bool { return q.left() == "" }) {
		t.Error("left:", q.left())
	}
}

// A tenant cannot fill the memory of the queue with names.
func TestManyTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(QueueOptions{Builds: 2})
		releases := hold(t, q, "x")
		releases[0]()
		for i := range 20_000 {
			release, err := q.Wait(t.Context(), fmt.Sprint(i), 1)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			release()
		}
		q.mu.Lock()
		n := len(q.shares)
		q.mu.Unlock()
		if n > maxAhead+10 {
			t.Errorf("%d tenants are remembered", n)
		}
		releases[1]()
		time.Sleep(time.Second)
		q.isEmpty(t)
	})
}

func BenchmarkQueue(b *testing.B) {
	q := NewQueue(QueueOptions{Builds: 4, Waiting: 10_000})
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			release, err := q.Wait(context.Background(), "tenant", 1000)
			if err != nil {
				b.Fatal(err)
			}
			release()
		}
	})
}
