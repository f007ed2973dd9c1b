package console

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
	"github.com/anchor-host/anchor-host/server"
)

// rates say what happened between two moments. What is unknown is not a number.
type rates struct {
	At time.Time
	// Builds are builds in a second; P50 and P99 times in milliseconds; Failed a share of the builds.
	Builds, P50, P99, Failed float64
	// Skips are in a minute. Cached is the share of prompts that began as the one before.
	Skips, Cached float64
	// In and Out are tokens in a second. Cost is dollars in an hour.
	In, Out, Cost float64
}

func between(a, b *moment) rates {
	s := b.at.Sub(a.at).Seconds()
	d := func(a, b float64) float64 { return max(0, b-a) }
	r := rates{At: b.at, P50: math.NaN(), P99: math.NaN(), Failed: math.NaN(), Cached: math.NaN()}
	if s <= 0 {
		return r
	}
	n := d(a.Builds, b.Builds)
	r.Builds, r.Skips, r.Cost = n/s, 60*d(a.Skips, b.Skips)/s, 3600*d(a.CostUSD, b.CostUSD)/s
	r.In, r.Out = d(sum(a.In), sum(b.In))/s, d(sum(a.Out), sum(b.Out))/s
	if n > 0 {
		r.Failed = d(a.Failed, b.Failed) / n
	}
	if same, fresh := d(a.Common, b.Common), d(a.New, b.New); same+fresh > 0 {
		r.Cached = same / (same + fresh)
	}
	r.P50, r.P99 = 1000*quantile(a, b, 0.5), 1000*quantile(a, b, 0.99)
	return r
}

func sum[K comparable, V int | float64](by map[K]V) (n V) {
	for _, x := range by {
		n += x
	}
	return n
}

// quantile estimates a quantile of the times of the builds between two moments, in seconds, as
// Prometheus does: straight between the bounds of a bucket.
func quantile(a, b *moment, q float64) float64 {
	list := slices.Clone(b.Buckets)
	for i := range list {
		if i < len(a.Buckets) {
			list[i] -= a.Buckets[i]
		}
	}
	if len(list) == 0 || list[len(list)-1] <= 0 {
		return math.NaN()
	}
	want := q * list[len(list)-1]
	i := slices.IndexFunc(list, func(n float64) bool { return n >= want })
	from, before := 0.0, 0.0
	if i > 0 {
		from, before = b.Bounds[i-1], list[i-1]
	}
	if math.IsInf(b.Bounds[i], 1) || list[i] == before {
		return b.Bounds[i]
	}
	return from + (b.Bounds[i]-from)*(want-before)/(list[i]-before)
}

// latest are the figures of the last minute, or of what there is of it.
func latest(list []moment) rates {
	last := &list[len(list)-1]
	first := last
	for i := len(list) - 1; i >= 0 && last.at.Sub(list[i].at) <= figureTime; i-- {
		first = &list[i]
	}
	return between(first, last)
}

// series are the figures of each ten seconds, the oldest first.
func series(list []moment) (out []rates) {
	from := &list[0]
	for i := range list {
		if list[i].at.Sub(from.at) >= binTime {
			out = append(out, between(from, &list[i]))
			from = &list[i]
		}
	}
	return out
}

// figure is a number with its name. Key names it for the script.
type figure struct{ Key, Name, Value, Note string }

func figuresOf(r rates) []figure {
	return []figure{
		{"builds", "builds", count(r.Builds), "per second"},
		{"p50", "p50", millis(r.P50), "half are faster"},
		{"p99", "p99", millis(r.P99), "1 of 100 is slower"},
		{"failed", "failed", percent(r.Failed), "of the builds"},
		{"skips", "skipped steps", count(r.Skips), "per minute"},
		{"cached", "prompt as before", percent(r.Cached), "of its tokens"},
		{"in", "tokens in windows", count(r.In), "per second"},
		{"out", "tokens left out", count(r.Out), "per second"},
	}
}

// curve is a small chart.
type curve struct {
	Key, Title, Newest, Most string
	Points                   string
}

func curvesOf(list []rates) []curve {
	values := func(of func(*rates) float64) (out []float64) {
		for i := range list {
			out = append(out, of(&list[i]))
		}
		return out
	}
	one := func(key, title string, write func(float64) string, v []float64) curve {
		points, most := polyline(v)
		newest := "–"
		if len(v) > 0 {
			newest = write(v[len(v)-1])
		}
		return curve{key, title, newest, write(most), points}
	}
	number := func(x float64) string { return count(x) }
	return []curve{
		one("builds", "builds per second", number, values(func(r *rates) float64 { return r.Builds })),
		one("p99", "p99 of builds", millis, values(func(r *rates) float64 { return r.P99 })),
		one("in", "tokens into windows per second", number, values(func(r *rates) float64 { return r.In })),
		one("skips", "skipped steps per minute", number, values(func(r *rates) float64 { return r.Skips })),
	}
}

// nowData is what the first page shows. Figures, Curves and what follows are for admins.
type nowData struct {
	Figures []figure
	Curves  []curve
	Table   []rates
	Sources []sourceTotal
	Status  anchor.Status
	Reload  string // why the last one failed
	Broken  []pluginError
	Records builds.Stats
	Builds  []buildRow
	Tenants bool // rows name their tenants
}

// nowBuilds is the number of builds on the first page.
const nowBuilds = 12

type sourceTotal struct {
	Source, Color string
	In, Out       float64
}

type pluginError struct{ Name, Error string }

// now shows what goes on.
func (v *visit) now() error {
	var d nowData
	tenants, err := v.listed()
	if err != nil {
		return err
	}
	for _, tenant := range tenants[:min(len(tenants), maxListed)] {
		page, err := v.c.o.App.Builds(v.ctx, tenant, builds.Filter{}, "", nowBuilds)
		if err != nil {
			return err
		}
		d.Builds = append(d.Builds, v.rowsOf(tenant, page.Builds)...)
	}
	slices.SortStableFunc(d.Builds, func(a, b buildRow) int { return b.Time.Compare(a.Time) })
	d.Builds, d.Tenants = d.Builds[:min(len(d.Builds), nowBuilds)], len(tenants) > 1
	if v.may(server.ScopeAdmin) {
		v.operatorFigures(&d)
	}
	v.show(http.StatusOK, "now", "Now", d)
	return nil
}

// operatorFigures adds what concerns the whole service.
func (v *visit) operatorFigures(d *nowData) {
	samples, _ := v.c.history.read()
	d.Figures, d.Table = figuresOf(latest(samples)), series(samples)
	d.Curves = curvesOf(d.Table)
	d.Status, d.Records = v.c.o.App.Status(), v.c.o.App.RecordStats()
	if d.Status.Last.Err != nil {
		d.Reload = failure.Of(d.Status.Last.Err).Error.Message
	}
	list, _ := v.c.o.App.Plugins()
	for i := range list {
		if list[i].Err != nil {
			d.Broken = append(d.Broken, pluginError{list[i].Name, failure.Of(list[i].Err).Error.Message})
		}
	}
	last := samples[len(samples)-1]
	for _, s := range sourceNames(last.In, last.Out) {
		d.Sources = append(d.Sources, sourceTotal{s, svg.Color(sourceOf(s)), last.In[s], last.Out[s]})
	}
}

// liveData is one event of the first page.
type liveData struct {
	Figures map[string]string `json:"figures"`
	Curves  map[string]curve  `json:"curves"`
}

// events sends the figures of the first page as they change, as text/event-stream.
func (v *visit) events() error {
	select {
	case v.c.streams <- struct{}{}:
		defer func() { <-v.c.streams }()
	default:
		v.w.WriteHeader(http.StatusNoContent) // a browser then asks no more
		return nil
	}
	v.w.Header().Set("Content-Type", "text/event-stream")
	if v.r.Method == http.MethodHead {
		return nil
	}
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		if err := v.sendFigures(); err != nil {
			return nil //nolint:nilerr // the client is gone
		}
		select {
		case <-v.ctx.Done():
			return nil
		case <-tick.C:
		}
		if v.identify() != nil || v.c.o.Authenticator != nil && v.session == nil || !v.may(server.ScopeAdmin) {
			return nil
		}
	}
}

func (v *visit) sendFigures() error {
	samples, _ := v.c.history.read()
	data := liveData{map[string]string{}, map[string]curve{}}
	for _, f := range figuresOf(latest(samples)) {
		data.Figures[f.Key] = f.Value
	}
	for _, c := range curvesOf(series(samples)) {
		data.Curves[c.Key] = c
	}
	doc, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(v.w, "data: %s\n\n", doc); err != nil {
		return err
	}
	return http.NewResponseController(v.w).Flush()
}
