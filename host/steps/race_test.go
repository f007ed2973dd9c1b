//go:build race

package steps_test

// underRace is for tests of what the race detector changes.
const underRace = true
