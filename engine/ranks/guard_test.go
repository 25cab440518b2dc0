package ranks

import (
	"testing"
	"time"
)

func TestLimitOf(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 10 * time.Minute, "0": 0, "30m": 30 * time.Minute, "10": -1, "1ms": -1, "long": -1} {
		got, err := limitOf(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
}
