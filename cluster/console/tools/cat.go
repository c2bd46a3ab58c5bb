package tools

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// whole reads a tool's options, all flags, and has do read everything that its operands
// name.
func whole(u *Use, flags string, do func(set map[byte]string, r io.Reader) error) int {
	set, names, err := options(u, flags, "")
	if err != nil {
		return usage(u, err)
	}
	r, done, err := input(u, names)
	if err != nil {
		return usage(u, err)
	}
	defer done()
	if err := do(set, r); err != nil {
		return usage(u, err)
	}
	return 0
}

func cat(u *Use) int {
	return whole(u, "", func(_ map[byte]string, r io.Reader) error {
		_, _ = io.Copy(u.Out, r) // who does not want to read it to its end may go
		return nil
	})
}

func wc(u *Use) int {
	return whole(u, "lwc", func(set map[byte]string, r io.Reader) error {
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		text := string(b)
		var out []string
		for _, c := range []struct {
			letter byte
			n      int
		}{{'l', strings.Count(text, "\n")}, {'w', len(strings.Fields(text))}, {'c', len(text)}} {
			if len(set) == 0 || set[c.letter] != "" {
				out = append(out, strconv.Itoa(c.n))
			}
		}
		fmt.Fprintln(u.Out, strings.Join(out, " "))
		return nil
	})
}
