package metal

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/internal/backend"
	"github.com/mcs-notebook/mcs/engine/internal/backend/gpu"
	"github.com/mcs-notebook/mcs/engine/internal/testing/backendtest"
)

// onMac returns the backend, or skips where there is none.
func onMac(t *testing.T) backend.Backend {
	t.Helper()
	if found := probe()[0]; found.Missing != "" {
		t.Skip(found.Missing)
	}
	b, err := Open()
	if errors.Is(err, gpu.Unsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConformanceOnMac runs the suite of all backends, or a part of it with -short.
func TestConformanceOnMac(t *testing.T) {
	b := onMac(t)
	suite := backendtest.Check
	if testing.Short() {
		suite = backendtest.Few
	}
	suite(t, func() (backend.Backend, error) { return b, nil })
	if err := b.(backend.Closer).Close(); err != nil {
		t.Error(err)
	}
}

// Where there is no Metal, the list of devices says why, and asking for it gives the same reason.
func TestMissing(t *testing.T) {
	if runtime.GOOS == "darwin" && runtime.GOARCH == "arm64" {
		t.Skip("this is a Mac with Apple silicon")
	}
	for _, f := range backend.List() {
		if f.Name != "metal" {
			continue
		}
		if f.Missing == "" || f.Open {
			t.Errorf("got %+v, want a reason", f)
		}
		want := "device metal: " + f.Missing + "; there is "
		if _, err := backend.Open("metal"); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), f.Missing) > 1 {
			t.Errorf("got %v, want %s", err, want)
		}
		return
	}
	t.Error("metal is not listed")
}
