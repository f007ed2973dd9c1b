package config

import (
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Telemetry says what metrics and diagnostics need besides the variables OTEL_*.
type Telemetry struct {
	LogLevel      string              `key:"log_level" enum:"debug,info,warn,error" default:"warn" doc:"Lowest level of the log lines that are printed on stderr, including lines of plugins."`
	Prices        string              `key:"prices" doc:"File with the prices of models, in US dollars for a million tokens. Diagnostics then show what a build costs, and each model must have a price there. It is read again when it changes."`
	TenantClasses map[string][]string `key:"tenant_classes" doc:"Classes of tenants, by a name of your choice. Metrics and logs name the class of a tenant, never the tenant. Tenants of no class are other."`
}

// maxClasses bounds the classes, because each has series of its own.
const maxClasses = 32

// telemetry checks that each tenant has one class.
func (k *checker) telemetry() {
	classes := k.config.Telemetry.TenantClasses
	if len(classes) > maxClasses {
		k.find("telemetry.tenant_classes", "%d classes (want at most %d: each has series of its own)", len(classes), maxClasses)
	}
	of := map[string]string{}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		path := strict.Join("telemetry.tenant_classes", class)
		if class == "" || class == "other" {
			k.find(path, "%q cannot be the name of a class (choose another)", class)
		}
		for _, tenant := range classes[class] {
			if first, there := of[tenant]; there && first != class {
				k.find(path, "the tenant %q is also in the class %q (keep one)", tenant, first)
			}
			of[tenant] = class
		}
	}
}
