package plan

import (
	"math/rand/v2"
	"testing"
)

// No two values that live at one time share memory, and the arena is not much larger than what lives at once.
func TestPack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + r.IntN(40)
		slots := make([]slot, n)
		for i := range slots {
			first := r.IntN(50)
			slots[i] = slot{value: i, bytes: alignment * (1 + r.IntN(64)), first: first, last: first + r.IntN(10)}
		}
		byValue := append([]slot(nil), slots...)
		m := &placement{at: map[int]source{}}
		m.launches = 61
		m.pack(&watch{ctx: t.Context()}, slots)
		live := make([]int, 61)
		for i, a := range byValue {
			begin := m.at[i].index
			if begin%alignment != 0 || begin+a.bytes > m.arena {
				t.Fatalf("value %d lies at %d of %d", i, begin, m.arena)
			}
			for time := a.first; time <= a.last; time++ {
				live[time] += a.bytes
			}
			for j, b := range byValue[:i] {
				other := m.at[j].index
				if a.first <= b.last && b.first <= a.last && begin < other+b.bytes && other < begin+a.bytes {
					t.Fatalf("values %d and %d overlap", i, j)
				}
			}
		}
		most := 0
		for _, bytes := range live {
			most = max(most, bytes)
		}
		if m.arena > 2*most {
			t.Errorf("the arena has %d bytes for %d that live at once", m.arena, most)
		}
	}
}
