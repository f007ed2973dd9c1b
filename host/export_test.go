package host

// PoolCounts shows black-box tests how many instances a plugin has.
func PoolCounts(p *Plugin) (total, idle int) { return p.pool.counts() }
