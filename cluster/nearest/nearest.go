// Package nearest finds what a mistyped word most likely meant: a verb, a flag,
// a file, an object. Kubernetes' programs do the same for their subcommands only
// (cobra's suggestions).
//
// Start reading at [To].
package nearest

// To is the known word that a mistyped one most likely meant, or "" if
// none is near (more than a third of the letters differ).
func To(word string, known []string) string {
	best, at := "", len(word)/3+1
	for _, k := range known {
		if d := distance(word, k); d < at {
			best, at = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, remove, replace or swap.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range y {
		rows[0][j+1] = j + 1
	}
	for i := range x {
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(x)][len(y)]
}

// Slip reports whether a word is one slip of the fingers away from a known one, and is
// none of them: a letter too many, too few, another one, or two of them swapped.
func Slip(word string, known []string) bool {
	near := false
	for _, k := range known {
		if word == k {
			return false
		}
		if n := len(word) - len(k); -1 <= n && n <= 1 {
			near = near || distance(word, k) == 1
		}
	}
	return near
}
