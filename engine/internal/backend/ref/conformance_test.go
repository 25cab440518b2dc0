package ref_test

import (
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend/ref"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
	"github.com/mcs-notebook/mcs/internal/testing/long"
)

// TestConformance runs the suite against itself, which shows that fusion changes no result of the reference.
// Without -long it is a part: the suite of the processor builds every case.
func TestConformance(t *testing.T) {
	suite := backendtest.Few
	if long.Tests() {
		suite = backendtest.Run
	}
	suite(t, ref.Open)
}
