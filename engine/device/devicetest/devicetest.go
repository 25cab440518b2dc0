// Package devicetest has a device for tests, also for those of packages outside of the engine.
package devicetest

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/mcs-notebook/mcs/engine/device"
	"github.com/mcs-notebook/mcs/engine/internal/backend/late"
)

// Register makes a device known that works through what it was asked for after it has returned, and finds
// errors then, as a GPU does: "late", or "late64" with f64.
func Register(name string) { late.Register(name) }

// Main runs the tests of a package on the device of the flag -device.
func Main(m *testing.M) {
	name := flag.String("device", "", "the device that tests compute on: late64 finds errors late")
	flag.Parse()
	if *name != "" {
		if strings.HasPrefix(*name, "late") {
			Register(*name)
		}
		if err := device.Use(*name); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
