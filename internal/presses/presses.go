// Package presses tells a key that is pressed again from one that is still held.
package presses

import (
	"os"
	"time"
)

// A key that is held repeats: the first time after 250 to 660 ms, and then some 30 times a second. So the
// pause between two presses that are both meant is longer than that. It is measured in ticks that this
// process has seen, not by the clock: a process that the system, or an output that takes nothing, has kept
// from running for seconds must not take the next repeat for a press.
const (
	tick  = 50 * time.Millisecond
	ticks = 14

	// Pause is how long a key must be let go at least for its next press to be meant.
	Pause = ticks * tick
)

// Watch calls press for each signal from a key, until the channel or done is closed. Again says that there
// was a pause before the signal; otherwise the signal is the repeat of a held key.
func Watch(signals <-chan os.Signal, done <-chan struct{}, press func(s os.Signal, again bool)) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	quiet := ticks
	for {
		select {
		case s, ok := <-signals:
			if !ok {
				return
			}
			press(s, quiet >= ticks)
			quiet = 0
			ticker.Reset(tick)
		case <-ticker.C: // one at most is due after a time in which this goroutine could not run
			if quiet++; quiet >= ticks {
				ticker.Stop()
			}
		case <-done:
			return
		}
	}
}
