package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/price"
	"github.com/anchor-host/anchor-host/internal/serving"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// ReadPrices reads the prices of the models of a configuration. It returns nil if the configuration names
// no file. Errors wrap [config.ErrInvalid].
func ReadPrices(l *config.Loaded) (*price.Table, error) {
	file := l.Telemetry.Prices
	if file == "" {
		return nil, nil
	}
	t, err := price.Read(l.Path(file))
	if err != nil {
		return nil, fmt.Errorf("%w: telemetry.prices: %w", config.ErrInvalid, err)
	}
	return t, nil
}

// CheckStart reads what a configuration names outside of its file: variables of the environment, files with
// secrets, the files of embedders, and prices. A start and a reload of a service do so before anything
// else. No server is asked, and no error has a secret. The error lists all mistakes
// with their positions in the file. The table is nil if no prices are named.
func CheckStart(l *config.Loaded) (*price.Table, error) {
	v := &validator{loaded: l}
	for _, name := range slices.Sorted(maps.Keys(l.Plugins.Instances)) {
		v.references(l.Plugins.Instances[name])
	}
	v.embedders()
	v.models()
	prices, err := ReadPrices(l)
	if prices != nil {
		v.priced(prices)
	}
	return prices, errors.Join(l.Place(v.findings).Err(), err)
}

// priced finds the models without a price.
func (v *validator) priced(prices *price.Table) {
	for _, name := range slices.Sorted(maps.Keys(v.loaded.Models)) {
		model := cmp.Or(v.loaded.Models[name].Model, name)
		if _, ok := prices.Rate(model); !ok {
			v.find(strict.Join("models", name)+".model", fmt.Errorf("%q has no price in %s%s (name it there under models; input: 0 and output: 0 say that it is free)",
				model, v.loaded.Path(v.loaded.Telemetry.Prices), strict.Hint(model, prices.Models())))
		}
	}
}

// references reads the variables and files that the texts of an instance stand for.
func (v *validator) references(i config.Instance) {
	for _, key := range slices.Sorted(maps.Keys(i.Config)) {
		if _, _, err := i.Config[key].Resolve(v.loaded.Path); err != nil {
			v.unresolved(err)
		}
	}
	r := resolver{path: v.loaded.Path}
	r.grants(i.Grants)
	if r.err != nil {
		v.unresolved(r.err)
	}
}

// embedders opens every embedder, which reads the files and secrets that it names. No server is asked.
func (v *validator) embedders() {
	for _, name := range slices.Sorted(maps.Keys(v.loaded.Embedders)) {
		if v.loaded.Embedders[name].Use != "" {
			continue // it is a component, which has no file
		}
		e, err := openEmbedder(v.loaded.Embedders[name], v.loaded.Path)
		if err != nil && !v.unresolved(err) {
			v.find(strict.Join("embedders", name), unwrapInvalid(err))
		}
		if c, ok := e.(interface{ Close() }); ok && err == nil {
			c.Close()
		}
	}
}

// models makes every model, which reads its secrets. No server is asked.
func (v *validator) models() {
	for _, name := range slices.Sorted(maps.Keys(v.loaded.Models)) {
		c := v.loaded.Models[name]
		if c.Use != "" {
			continue
		}
		m, err := serving.Model(name, &c, v.loaded.Path)
		if err == nil {
			m.Close()
		} else if !v.unresolved(err) {
			v.find(strict.Join("models", name), unwrapInvalid(err))
		}
	}
}

// unresolved notes the error of a text whose reference stands for nothing, which has its place.
func (v *validator) unresolved(err error) bool {
	p, ok := unresolved(err)
	if ok {
		v.findings = append(v.findings, config.Finding{Path: p.Path, Message: p.Message})
	}
	return ok
}

func unresolved(err error) (p strict.Problem, ok bool) {
	ok = errors.As(err, &p)
	return p, ok
}
