//go:build !race

// Package race tells code whether the race detector watches it. Under it the runtime allocates for its own
// bookkeeping and a sync.Pool drops things at random, so what a test counts there is not what the program
// allocates.
package race

// Enabled says whether the program was built with -race.
const Enabled = false
