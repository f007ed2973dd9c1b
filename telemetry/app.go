package telemetry

import (
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
	queueDesc      = prometheus.NewDesc(metricQueue, "Calls that wait for an instance of a plugin or for a processor.", []string{"plugin"}, nil)
)

// Describe implements prometheus.Collector.
func (s *appState) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{generationDesc, reloadDesc, reloadTimeDesc, drainingDesc, readyDesc, keptDesc, queueDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
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
	for name, ok := range ready {
		gauge(readyDesc, is(ok), name)
		gauge(keptDesc, is(kept[name]), name)
		gauge(queueDesc, float64(waiting[name]), name)
	}
}
