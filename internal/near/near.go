// Package near finds the name that somebody meant.
package near

// Name returns the candidate that a misspelt name is nearest to, or "" if none is near: at most one letter in
// three, and two, may have to be inserted, deleted or replaced. Of equally near candidates it takes the
// first.
func Name(name string, candidates []string) string {
	best, distance := "", 1+max(1, min(len(name)/3, 2))
	for _, c := range candidates {
		if d := edits(name, c); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// edits is the number of letters to insert, delete or replace to get from a to b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
