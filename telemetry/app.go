package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/anchor-host/anchor-host/anchor"
)

// Watch shows the state of an App: which version of its configuration it uses, how its last reload
// ended, and which plugins are ready and how many calls wait for each. An App is watched once.
func (t *Telemetry) Watch(app *anchor.App) error {
	return t.metrics.registry.Register(&appState{t, app})
}

// WatchKeys shows whether the file of the keys was taken when it was last read: problem says why not. It
// is called once.
func (t *Telemetry) WatchKeys(problem func() error) error {
	return t.metrics.registry.Register(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: metricKeys, Help: "1 if the file of the keys was taken when it was last read, else 0."},
		func() float64 {
			if problem() != nil {
				return 0
			}
			return 1
		}))
}

// countTime bounds the counting of jobs for a scrape.
const countTime = 2 * time.Second

// WatchJobs shows how many jobs there are: count calls each with those of a kind in a state. It is called once.
func (t *Telemetry) WatchJobs(count func(ctx context.Context, each func(kind, state string, jobs int64)) error) error {
	return t.metrics.registry.Register(jobCounts(count))
}

// jobCounts collects how many jobs there are when it is asked. While their database is away there are none.
type jobCounts func(ctx context.Context, each func(kind, state string, jobs int64)) error

var jobsDesc = prometheus.NewDesc(metricJobs, "Jobs that are kept, by kind and state.", []string{"kind", "state"}, nil)

func (j jobCounts) Describe(to chan<- *prometheus.Desc) { to <- jobsDesc }

func (j jobCounts) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), countTime)
	defer cancel()
	_ = j(ctx, func(kind, state string, jobs int64) { // the log has why the database does not answer
		to <- prometheus.MustNewConstMetric(jobsDesc, prometheus.GaugeValue, float64(jobs), kind, state)
	})
}

// appState collects the state of an App when it is asked.
type appState struct {
	t   *Telemetry
	app *anchor.App
}

var (
	generationDesc = prometheus.NewDesc(metricGeneration, "Number of the version of the configuration in use; 0 once the service is closed.", nil, nil)
	reloadDesc     = prometheus.NewDesc(metricReload, "1 if the last reload succeeded or there was none, 0 if it changed nothing.", nil, nil)
	reloadTimeDesc = prometheus.NewDesc(metricReloadTime, "When the version in use was loaded, in seconds since 1970.", nil, nil)
	drainingDesc   = prometheus.NewDesc(metricDraining, "Former versions that requests still use.", nil, nil)
	readyDesc      = prometheus.NewDesc(metricPluginUp, "1 if a plugin can be called, else 0.", []string{"plugin"}, nil)
	keptDesc       = prometheus.NewDesc(metricPluginKept, "1 if a plugin has the module from before the last reload, because that of now cannot be loaded, else 0.", []string{"plugin"}, nil)
	shadowDesc     = prometheus.NewDesc(metricShadow, "How the second version of a step compares with the first: calls and dropped are numbers since the configuration was loaded; failures, overlap, order and slower are means of its calls; quality is the difference of the nDCG, second less first, of judged questions.", []string{"step", "measure"}, nil)
	queueDesc      = prometheus.NewDesc(metricQueue, "Calls that wait for an instance of a plugin or for a processor.", []string{"plugin"}, nil)
)

// maxShadows bounds the steps whose second versions have metrics.
const maxShadows = 50

func (s *appState) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{generationDesc, reloadDesc, reloadTimeDesc, drainingDesc, readyDesc, keptDesc, queueDesc, shadowDesc} {
		to <- d
	}
}

func (s *appState) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	is := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	st := s.app.Status()
	gauge(generationDesc, float64(st.Number))
	gauge(reloadDesc, is(st.Last.Err == nil))
	gauge(drainingDesc, float64(st.Draining))
	if st.Number > 0 {
		gauge(reloadTimeDesc, float64(st.Since.UnixMilli())/1000)
	}
	ready, kept, waiting := map[string]bool{}, map[string]bool{}, map[string]int{}
	list, _ := s.app.Plugins()
	for i := range list {
		p := &list[i]
		name := s.t.metrics.plugins.of(p.Name)
		was, there := ready[name]
		ready[name] = p.Err == nil && (was || !there) // other stands for several plugins
		kept[name] = kept[name] || p.Kept != nil
		waiting[name] += p.Stats.Waiting + p.Stats.Queued
	}
	seen := map[string]bool{}
	for _, c := range s.app.Shadows() {
		if seen[c.Step] || len(seen) == maxShadows { // several pipelines, or a candidate
			continue
		}
		seen[c.Step] = true
		measures := map[string]float64{
			"calls": float64(c.Calls), "dropped": float64(c.Dropped.Busy + c.Dropped.Fuel + c.Dropped.Large),
			"failures": c.Failures.Mean, "overlap": c.Overlap.Mean, "order": c.Order.Mean, "slower": c.Slower.Mean,
		}
		if c.Quality != nil && c.Quality.Questions > 0 {
			measures["quality"] = c.Quality.Difference.Mean
		}
		for measure, v := range measures {
			gauge(shadowDesc, v, c.Step, measure)
		}
	}
	for name, ok := range ready {
		gauge(readyDesc, is(ok), name)
		gauge(keptDesc, is(kept[name]), name)
		gauge(queueDesc, float64(waiting[name]), name)
	}
}
