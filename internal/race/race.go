//go:build race

package race

// Enabled says whether the program was built with -race.
const Enabled = true
