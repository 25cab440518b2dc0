//go:build (!amd64 && !arm64) || mcs_portable

package vec

import "testing"

// eachSet runs a test with the portable functions.
func eachSet(t *testing.T, test func(t *testing.T)) { t.Run("portable", test) }
