package interpreter

import "strings"

// shortestPart is how many letters a name must have for its being part of another to mean something.
const shortestPart = 4

// Nearest finds the candidate that name was most likely meant to be: one that contains it or is contained
// in it, else the one that takes the fewest edits, if these are fewer than half its letters. It is empty
// when nothing is near. Letter case does not count.
func Nearest(name string, candidates []string) string {
	if name == "" {
		return ""
	}
	low := strings.ToLower(name)
	best, cost := "", -1
	for _, c := range candidates {
		lc := strings.ToLower(c)
		d := editDistance(low, lc)
		if min(len(lc), len(low)) >= shortestPart && (strings.Contains(lc, low) || strings.Contains(low, lc)) {
			// The unmatched rest is not a mistake, only an abbreviation.
			d = min(d, 1)
		}
		if 2*d < max(len(lc), len(low)) && (cost < 0 || d < cost) {
			best, cost = c, d
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements that turn a into b.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			keep := diagonal
			if a[i-1] != b[j-1] {
				keep++
			}
			diagonal = row[j]
			row[j] = min(keep, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
