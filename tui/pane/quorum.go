package pane

import (
	"fmt"
	"strings"

	"kviz/cluster/view"
)

// Quorum draws how many voting members are up and whether they are a quorum; it is ""
// while there are none.
func Quorum(q view.Quorum) string {
	if q.Total == 0 {
		return ""
	}
	word := "quorum"
	if !q.OK() {
		word = "NO quorum"
	}
	return strings.Repeat("●", q.Have) + strings.Repeat("○", q.Total-q.Have) + fmt.Sprintf(" %d/%d %s", q.Have, q.Total, word)
}
