//go:build !linux && !darwin

package machine

import (
	"os"
	"time"
)

func cpuModel() string    { return os.Getenv("PROCESSOR_IDENTIFIER") } // Windows sets it
func cachesHere() []Cache { return nil }
func load() float64       { return -1 }
func megahertz() float64  { return 0 }
func power() string       { return "" }
func used() Usage         { return Usage{} }

func spent() (time.Duration, bool) { return 0, false }
