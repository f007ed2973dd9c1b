package eval

import (
	_ "embed"
	"fmt"
	"io"
	"sync"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
)

//go:embed report.html
var reportHTML string

var reportTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"figure":     func(v float64) string { return fmt.Sprintf("%.4f", v) },
		"coordinate": func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"percent":    func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) },
		"millis":     func(v float64) string { return fmt.Sprintf("%.1f ms", v) },
		"mean":       func(v float64) string { return fmt.Sprintf("%.1f", v) },
		"p":          PValue, "signed": signed, "label": stageLabel, "changeClass": changeClass, "verdictClass": verdictClass,
		"document": func(d Relevant) string { return d.String() },
	}).Parse(reportHTML))
})

// section is the part of the page about one configuration.
type section struct {
	*Report
	Falls     []fall
	Bar       fateBar
	WorstList []QueryReport
	// Rank is the metric that selects the worst queries.
	Rank string
}

// page is the data of the template.
type page struct {
	Title    string
	Sections []section
	Compare  *Comparison
	Forests  []forest
}

// WriteHTML writes a report as one page that needs no other file, no script and no network.
// worst is the number of queries in its list of worst queries.
func WriteHTML(w io.Writer, r *Report, worst int) error {
	p := page{Title: "Evaluation of " + r.Config, Sections: []section{newSection(r, worst)}, Compare: r.Compare}
	if c := r.Compare; c != nil {
		p.Title += " and " + c.Report.Config
		p.Sections = append(p.Sections, newSection(c.Report, worst))
		p.Forests = []forest{
			newForest("In the window, after the budget cut", c.Window),
			newForest("After the last step, before the budget cut", c.Steps),
		}
	}
	if err := reportTemplate().Execute(w, p); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func newSection(r *Report, worst int) section {
	s := section{Report: r, Bar: fateChart(r), WorstList: r.Worst(worst), Rank: r.Waterfall[1]}
	for _, metric := range r.Waterfall {
		s.Falls = append(s.Falls, waterfall(r, metric))
	}
	return s
}
