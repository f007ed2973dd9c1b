//go:build race

package pipeline

// underRace shortens tests of pure arithmetic, which have no races to find.
const underRace = true
