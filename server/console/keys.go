package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// Bounds of the page of keys.
const (
	maxKeys         = 500
	maxTenantQuotas = 50
)

// keyRow is a key with what was used of it.
type keyRow struct {
	Key
	keyUse
	Today string // what models cost today
	Quota string
	Link  string // its builds
}

// quotaRow is what a tenant may use, and what of it is used.
type quotaRow struct {
	Tenant, Quota, Today string
	Records, Bytes       int64
	Link                 string
}

// keysData is what the page of keys shows.
type keysData struct {
	Known    bool // there are keys
	Rows     []keyRow
	More     int
	Tenants  []quotaRow
	Unlisted int
	Refused  []refusal
}

// keys shows the keys, the quotas and what is used of them.
func (v *visit) keys() error {
	d := keysData{Refused: v.c.o.Activity.lastRefused(), Known: v.c.o.Keys != nil}
	limits := map[string][]Limit{}
	var list []Key
	if d.Known {
		list = v.c.o.Keys()
	}
	for _, k := range list {
		limits[k.Tenant] = k.TenantLimits // all keys of a tenant say the same
	}
	tenants, err := v.tenants()
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	today := map[string]float64{} // by tenant and key
	d.Unlisted = max(0, len(tenants)-maxTenantQuotas)
	for _, tenant := range tenants[:len(tenants)-d.Unlisted] {
		row := quotaRow{Tenant: tenant, Quota: limitsText(limits[tenant]), Link: linkOf(tenant, "builds")}
		if row.Records, row.Bytes, err = v.c.o.App.Stored(store.Stale(v.ctx), tenant); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		sum, err := v.spentToday(tenant, today)
		if err != nil {
			return err
		}
		row.Today = dollars(sum)
		d.Tenants = append(d.Tenants, row)
	}
	d.More = max(0, len(list)-maxKeys)
	for _, k := range list[:len(list)-d.More] {
		d.Rows = append(d.Rows, keyRow{k, v.c.o.Activity.use(k.ID), dollars(today[k.Tenant+" "+k.ID]), limitsText(k.Limits), linkOf(k.Tenant, "builds", "key", k.ID)})
	}
	v.show(http.StatusOK, "keys", "Keys and quotas", &d)
	return nil
}

// spentToday adds what each key of a tenant has spent today, and returns the sum.
func (v *visit) spentToday(tenant string, by map[string]float64) (sum float64, err error) {
	now := time.Now()
	list, err := v.c.o.App.Costs(v.ctx, now, now, tenant)
	for i := range list {
		by[tenant+" "+list[i].Key] += list[i].USD
		sum += list[i].USD
	}
	return sum, err
}

// limitsText names limits, such as "usd_per_day 5".
func limitsText(list []Limit) string {
	var parts []string
	for _, l := range list {
		parts = append(parts, l.Name+" "+strconv.FormatFloat(l.Most, 'f', -1, 64))
	}
	return strings.Join(parts, ", ")
}

// collectionsData is what the page of collections shows.
type collectionsData struct {
	Rows []retrieve.CollectionInfo
	More int
}

// maxCollections is how many collections a page shows.
const maxCollections = 500

// collections lists the collections of a tenant.
func (v *visit) collections() error {
	list, err := v.c.o.App.Collections(v.ctx, v.tenant)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b retrieve.CollectionInfo) int { return strings.Compare(a.Name, b.Name) })
	v.show(http.StatusOK, "collections", "Collections", collectionsData{list[:min(len(list), maxCollections)], max(0, len(list)-maxCollections)})
	return nil
}

// grant is a permission that the configuration gives a plugin, by the path of its setting.
type grant struct{ Path, Value string }

// grantsOf are the grants of an instance.
func grantsOf(settings []anchor.Setting, name string) (out []grant) {
	for i := range settings {
		s := &settings[i]
		path, ok := strings.CutPrefix(s.Path, "plugins.instances."+name+".grants.")
		if !ok {
			continue
		}
		if strings.HasPrefix(path, "http.headers") {
			out = append(out, grant{path, "set, not shown"})
			continue
		}
		out = append(out, grant{path, s.Text})
	}
	return out
}
