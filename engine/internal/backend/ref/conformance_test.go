package ref_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

// TestConformance runs the suite against itself, which shows that fusion changes no result of the reference.
// Without -long or -record it is a part: the suite of the processor builds every case.
func TestConformance(t *testing.T) {
	backendtest.Part(t, ref.Open)
}
