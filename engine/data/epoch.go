package data

// Epoch is the number of batches in which a source gives out all of its data once, rounded up; 0 if it does
// not say. A source of your own says so by a method Epoch.
func Epoch(s Source) int {
	batches := func(n, batch int) int {
		if batch < 1 {
			return 0
		}
		return (n + batch - 1) / batch
	}
	switch s := s.(type) {
	case interface{ Epoch() int }:
		return s.Epoch()
	case *Batches:
		return batches(s.Len(), s.batch)
	case *Examples:
		return batches(s.Len(), s.batch)
	case *Rows:
		return s.Len()
	case *Mapped:
		return Epoch(s.source)
	case *Loader:
		return Epoch(s.source)
	}
	return 0
}
