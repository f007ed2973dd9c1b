package console

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/usage"
)

const (
	// costDays is how many days back the page of costs shows, and maxCosts how many rows it has.
	costDays, maxCosts = 30, 500
)

// costsData is what the page of costs shows.
type costsData struct {
	Rows []usage.Cost
	// More is the number of rows that are not shown. All of them are in Sum, and those of today in Today.
	More       int
	Sum, Today string
	Unpriced   bool
	// Unlisted is the number of tenants whose costs are missing.
	Unlisted int
}

// costs shows what models cost, by day, tenant, key and model: those of all tenants, if an admin chose none.
func (v *visit) costs() error {
	now := time.Now().UTC()
	tenants, err := v.listed()
	if err != nil {
		return err
	}
	d := costsData{Unlisted: max(0, len(tenants)-maxListed)}
	var list []usage.Cost
	for n, tenant := range tenants[:len(tenants)-d.Unlisted] {
		if n > 0 && time.Since(now) > longestSearch {
			d.Unlisted = len(tenants) - n
			break
		}
		some, err := v.c.o.App.Costs(store.Stale(v.ctx), now.AddDate(0, 0, -costDays), now, tenant)
		if err != nil {
			return err
		}
		list = append(list, some...)
	}
	slices.SortStableFunc(list, func(a, b usage.Cost) int { return strings.Compare(b.Day, a.Day) })
	var sum, today float64
	for i := range list {
		sum += list[i].USD
		d.Unpriced = d.Unpriced || list[i].Unpriced
		if list[i].Day == now.Format(time.DateOnly) {
			today += list[i].USD
		}
	}
	d.Rows, d.More = list[:min(len(list), maxCosts)], max(0, len(list)-maxCosts)
	d.Sum, d.Today = dollars(sum), dollars(today)
	v.show(http.StatusOK, "costs", "Costs", d)
	return nil
}

// dollars writes a sum, which may be a small part of a cent.
func dollars(usd float64) string { return "$" + strconv.FormatFloat(usd, 'f', 4, 64) }
