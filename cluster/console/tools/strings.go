package tools

import (
	"fmt"
)

// printable is strings: the runs of printable characters in bytes such as those that
// etcd holds.
func printable(u *Use) int {
	set, names, err := grammar{flags: "a", valued: "n", digits: 'n', long: map[string]byte{"bytes": 'n', "all": 'a'}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	least, err := set.number('n', 4)
	if err != nil || least == 0 {
		return usage(u, fmt.Errorf("invalid minimum string length"))
	}
	return u.each(names, func(s *source) bool {
		var run []byte
		for n := 0; ; n++ {
			if n%4096 == 0 {
				u.mustGoOn()
			}
			c, err := s.r.ReadByte()
			if err == nil && (c >= 0x20 && c < 0x7f || c == '\t') && len(run) < mostLine {
				run = append(run, c)
				continue
			}
			if len(run) >= least {
				fmt.Fprintf(u.Out, "%s\n", run)
			}
			if run = run[:0]; err != nil {
				return true
			}
		}
	})
}
