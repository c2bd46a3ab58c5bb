package tools

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// hexdump is hexdump -C, with which Kubernetes' documentation looks at what etcd
// holds. A line that is as the one before is a star, but with -v.
func hexdump(u *Use) int {
	set, names, err := options(u, "Cv", "n")
	if err == nil && set['C'] == "" {
		err = fmt.Errorf("this is a small hexdump: it knows hexdump -C [-v] [-n BYTES] [FILE]")
	}
	if err != nil {
		return usage(u, err)
	}
	b, exit := inputBytes(u, names, set['n'])
	if exit != 0 {
		return exit
	}
	out := bufio.NewWriter(u.Out)
	defer out.Flush()
	starred := false
	for i, line := range strings.SplitAfter(hex.Dump(b), "\n") {
		at := i * 16
		same := set['v'] == "" && i > 0 && at+16 <= len(b) && bytes.Equal(b[at:at+16], b[at-16:at])
		switch {
		case !same:
			_, _ = out.WriteString(line)
		case !starred:
			_, _ = out.WriteString("*\n")
		}
		starred = same
	}
	if len(b) > 0 {
		fmt.Fprintf(out, "%08x\n", len(b))
	}
	return 0
}

// xxd is xxd without options but -l.
func xxd(u *Use) int {
	set, names, err := options(u, "", "l")
	if err != nil {
		return usage(u, err)
	}
	b, exit := inputBytes(u, names, set['l'])
	if exit != 0 {
		return exit
	}
	out := bufio.NewWriter(u.Out)
	defer out.Flush()
	for at := 0; at < len(b); at += 16 {
		row := b[at:min(at+16, len(b))]
		var left, right strings.Builder
		for i, c := range row {
			if i%2 == 0 {
				left.WriteByte(' ')
			}
			fmt.Fprintf(&left, "%02x", c)
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			right.WriteByte(c)
		}
		fmt.Fprintf(out, "%08x:%-40s  %s\n", at, left.String(), right.String())
	}
	return 0
}

// inputBytes is all of the input, or its first so many bytes.
func inputBytes(u *Use, names []string, limit string) ([]byte, int) {
	r, done, err := input(u, names)
	if err != nil {
		return nil, usage(u, err)
	}
	defer done()
	if limit != "" {
		n, err := strconv.ParseInt(limit, 10, 64)
		if err != nil || n < 0 {
			return nil, usage(u, fmt.Errorf("%q is no number of bytes", limit))
		}
		r = io.LimitReader(r, n)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, usage(u, err)
	}
	return b, 0
}
