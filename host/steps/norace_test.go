//go:build !race

package steps_test

const underRace = false
