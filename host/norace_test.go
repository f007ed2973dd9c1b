//go:build !race

package host_test

const underRace = false
