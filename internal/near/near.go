// Package near finds the name that somebody meant.
package near

// Name returns the candidate that a misspelt name is nearest to, or "" if none is near: at most one letter in
// three, and two, may have to be changed, as [Edits] counts. Of equally near candidates it takes the
// first.
func Name(name string, candidates []string) string {
	best, distance := "", 1+max(1, min(len(name)/3, 2))
	for _, c := range candidates {
		if d := Edits(name, c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// Edits counts the letters to insert, delete, replace or exchange with their neighbour to get from a to b.
func Edits(a, b string) int {
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}
