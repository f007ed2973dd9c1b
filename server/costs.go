package server

import (
	"fmt"
	"net/http"
	"time"

	"github.com/anchor-host/anchor-host/usage"
)

// maxCosts bounds the costs of an answer.
const maxCosts = 100_000

// costsDoc is what models cost in a time. Days are in UTC.
type costsDoc struct {
	From string `json:"from"`
	To   string `json:"to"`
	// USD is the sum of all costs, in US dollars.
	USD   float64      `json:"usd"`
	Costs []usage.Cost `json:"costs"`
}

// listCosts answers what models cost: those of the tenant of the key, for the scope admin those of any or all.
func (c *call) listCosts() (any, error) {
	last, err := c.day("to", time.Now().UTC())
	if err != nil {
		return nil, err
	}
	first, err := c.day("from", last.AddDate(0, 0, -30))
	if err != nil {
		return nil, err
	}
	all, err := c.flag("all")
	if err != nil {
		return nil, err
	}
	tenants := []string{c.s.tenant(c.info.Principal)}
	if name := c.query.Get("tenant"); name != "" && name != tenants[0] || all {
		if !c.info.Principal.Has(ScopeAdmin) {
			return nil, &Refusal{Status: http.StatusForbidden, Reason: "forbidden", Message: "the costs of other tenants need the scope admin", Remedy: "leave tenant and all out, or use a key that has it"}
		}
		if tenants = []string{name}; all {
			if tenants, err = c.s.app.Tenants(c.ctx); err != nil {
				return nil, err
			}
		}
	}
	doc := costsDoc{From: first.Format(time.DateOnly), To: last.Format(time.DateOnly), Costs: []usage.Cost{}}
	for _, tenant := range tenants {
		list, err := c.s.app.Costs(c.ctx, first, last, tenant)
		if err != nil {
			return nil, err
		}
		if doc.Costs = append(doc.Costs, list...); len(doc.Costs) > maxCosts {
			return nil, &Refusal{Status: http.StatusRequestEntityTooLarge, Reason: "too_many", Message: fmt.Sprintf("there are more than %d costs", maxCosts), Remedy: "ask for fewer days, or for one tenant"}
		}
	}
	for i := range doc.Costs {
		doc.USD += doc.Costs[i].USD
	}
	return doc, nil
}

// day reads a parameter that is a day.
func (c *call) day(name string, fallback time.Time) (time.Time, error) {
	text := c.query.Get(name)
	if !c.query.Has(name) {
		return fallback, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return t, badParam(name, "want a day in UTC such as 2026-11-28, got "+shorten(text))
	}
	return t, nil
}
