package tools

import (
	"fmt"
	"io"
)

// tee writes its input to files and on.
func tee(u *Use) int {
	set, names, err := grammar{flags: "ai", long: map[string]byte{"append": 'a'}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	exit := 0
	var to []io.Writer
	for _, name := range names {
		f, err := u.Files.Create(name, set.has("a"))
		if err != nil {
			u.complain(fmt.Errorf("%s: %w", name, because(err)))
			exit = 1
			continue
		}
		defer f.Close()
		to = append(to, &output{u: u, w: f, left: MostWritten})
	}
	to = append(to, u.Out)
	part := make([]byte, 1<<16)
	return max(exit, u.each(nil, func(s *source) bool {
		for {
			n, err := s.r.Read(part)
			for _, w := range to {
				_, _ = w.Write(part[:n])
			}
			if err != nil {
				return true
			}
		}
	}))
}
