package console

import (
	"net/http"
	"strconv"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
)

const (
	// costDays is how many days back the page of costs shows, and maxCosts how many rows it has.
	costDays, maxCosts = 30, 500
)

// costsData is what the page of costs shows.
type costsData struct {
	Rows []anchor.Cost
	// More is the number of rows that are not shown. All of them are in Sum, and those of today in Today.
	More       int
	Sum, Today string
	Unpriced   bool
}

// costs shows what models cost a tenant, by day, key and model.
func (v *visit) costs() error {
	now := time.Now().UTC()
	list, err := v.c.o.App.Costs(v.ctx, now.AddDate(0, 0, -costDays), now, v.tenant)
	if err != nil {
		return err
	}
	var sum, today float64
	d := costsData{Rows: list[:min(len(list), maxCosts)], More: max(0, len(list)-maxCosts)}
	for i := range list {
		sum += list[i].USD
		d.Unpriced = d.Unpriced || list[i].Unpriced
		if list[i].Day == now.Format(time.DateOnly) {
			today += list[i].USD
		}
	}
	d.Sum, d.Today = dollars(sum), dollars(today)
	v.show(http.StatusOK, "costs", "Costs", d)
	return nil
}

// dollars writes a sum, which may be a small part of a cent.
func dollars(usd float64) string { return "$" + strconv.FormatFloat(usd, 'f', 4, 64) }
