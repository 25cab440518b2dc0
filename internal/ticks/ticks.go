// Package ticks is a clock for what is timed thousands of times a second. It has the times of machine.Now,
// and takes half as long or less to read: it reads the processor's counter, and reads the machine's clock
// only every some milliseconds, to learn how fast the counter goes.
//
// The counter is used where the operating system itself keeps time by it, as Linux does after it has found
// that the counters of all processors agree and never stop, and where to read it really takes less (a
// hypervisor may catch that). Whenever the two clocks are compared they have to agree. If they do not,
// because the machine was suspended or moved meanwhile, the process uses the machine's clock from then on;
// [Sound] tells.
//
// The processor may read its counter some instructions early. So a time can be wrong by as much as these
// take, which is far less than 0.1 µs, and never sums up.
package ticks

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcs-notebook/mcs/internal/machine"
)

var here = clock{usable: usable, count: counter, real: machine.Now}

// Now is the time since the process began.
func Now() time.Duration { return here.now(counter()) }

// Sound compares the counter with the machine's clock, and says whether they have agreed so far. If they had
// not, the times of the last milliseconds before that was found can be wrong by any amount.
func Sound() bool { return here.sound() }

// A clock tells the time by a counter.
type clock struct {
	usable func() bool
	count  func() int64         // reads the counter
	real   func() time.Duration // reads the machine's clock

	piece atomic.Pointer[piece] // the newest; nil: the counter is not used, or not yet

	mu      sync.Mutex
	asked   bool   // usable was called
	unused  bool   // the counter is not used at all
	unsound bool   // because it did not agree with the machine's clock
	first   moment // what the first piece is measured from
}

// A piece is a stretch of time in which the counter goes at one rate.
type piece struct {
	moment
	at    time.Duration // what the clock says at the beginning
	scale uint64        // nanoseconds of one count, times 1<<32
	span  uint64        // how many counts it lasts
}

// A moment is what both clocks said at the same time. The counter may have been width/2 more or less.
type moment struct {
	count, width int64
	real         time.Duration
}

const (
	shortest = time.Millisecond // a piece: what the machine's clock is wrong by is little beside it
	longest  = 4 * time.Millisecond
	// slack and drift are by how much the clocks may differ at the end of a piece, and in the time since its
	// beginning. The operating system may
	// correct the machine's clock by half a thousandth (adjtime).
	slack = time.Microsecond
	drift = 1. / 1000
)

// now is the time at which the counter had this value, which was read just now.
func (c *clock) now(count int64) time.Duration {
	if p := c.piece.Load(); p != nil {
		if since := uint64(count - p.count); since <= p.span {
			return p.at + time.Duration(since*p.scale>>32)
		}
	}
	return c.compare()
}

func (c *clock) sound() bool {
	c.compare()
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.unsound
}

// compare compares the clocks, begins a new piece if the last one is over, and returns the time.
func (c *clock) compare() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.asked {
		c.asked = true
		if c.unused = !c.usable(); !c.unused {
			c.first = c.moment()
		}
	}
	if c.unused {
		return c.real()
	}
	m := c.moment()
	p := c.piece.Load()
	if p == nil {
		if m.real-c.first.real >= shortest && m.sharp(c.first) {
			c.begin(c.first, m, m.real, shortest)
		}
		return m.real
	}
	since := m.count - p.count
	told, passed := p.at+p.lasts(since), m.real-p.real
	if off := (m.real - told).Abs(); since < 0 || off > slack+p.lasts(m.width)+time.Duration(drift*float64(passed)) {
		c.unused, c.unsound = true, true
		c.piece.Store(nil)
		return m.real
	}
	if uint64(since) <= p.span {
		return told
	}
	// Time must not go back behind what was told in the piece, which may have gone a little too fast.
	at := max(m.real, p.at+p.lasts(int64(p.span)))
	if m.sharp(p.moment) {
		c.begin(p.moment, m, at, min(2*p.lasts(int64(p.span)), longest))
	}
	return at
}

// sharp says whether the rate of the counter can be told from two moments.
func (m moment) sharp(from moment) bool {
	return float64(m.width+from.width) < drift/2*float64(m.count-from.count)
}

// lasts is how long the counter takes for so many counts.
func (p *piece) lasts(counts int64) time.Duration {
	return time.Duration(math.Ldexp(float64(counts)*float64(p.scale), -32))
}

// begin begins a piece that lasts so long. The rate of the counter is that between two moments; where the
// clock is ahead it goes so much slower that it is not at the end of the piece.
func (c *clock) begin(from, to moment, at, lasts time.Duration) {
	rate := float64(to.real-from.real) / float64(to.count-from.count)
	ahead := min(float64(at-to.real)/float64(lasts), 0.5)
	c.piece.Store(&piece{moment: to, at: at, scale: uint64(math.Ldexp(rate*(1-ahead), 32)), span: uint64(float64(lasts) / rate)})
}

// moment reads both clocks: the counter before and after the machine's. Of several tries it takes the one
// that took least, because the goroutine may be stopped in between.
func (c *clock) moment() (best moment) {
	best.width = math.MaxInt64
	before := c.count()
	for range 4 {
		real := c.real()
		after := c.count()
		if width := after - before; width < best.width {
			best = moment{before + width/2, width, real}
		}
		before = after
	}
	return best
}
