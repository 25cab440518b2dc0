package plan

// marks is a set of small numbers that is emptied at no cost.
type marks struct {
	of  []int32 // the round in which each number was added last
	now int32
}

func newMarks(n int) marks { return marks{of: make([]int32, n), now: 1} }

func (m *marks) clear() { m.now++ }

// add puts i into the set and says whether it is new there.
func (m *marks) add(i int) bool {
	if m.of[i] == m.now {
		return false
	}
	m.of[i] = m.now
	return true
}

func (m *marks) has(i int) bool { return m.of[i] == m.now }
