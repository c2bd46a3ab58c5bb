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
	set, names, err := grammar{flags: "Cv", valued: "n", long: map[string]byte{"canonical": 'C', "no-squeezing": 'v', "length": 'n'}}.parse(u)
	if err == nil && !set.has("C") {
		err = fmt.Errorf("this is a small hexdump: it knows hexdump -C [-v] [-n BYTES] [FILE]")
	}
	if err != nil {
		return usage(u, err)
	}
	b, exit := u.firstBytes(names, set['n'])
	if exit != 0 {
		return exit
	}
	out := bufio.NewWriter(u.Out)
	defer out.Flush()
	starred := false
	for i, line := range strings.SplitAfter(hex.Dump(b), "\n") {
		at := i * 16
		same := !set.has("v") && i > 0 && at+16 <= len(b) && bytes.Equal(b[at:at+16], b[at-16:at])
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
	set, names, err := grammar{valued: "l", long: map[string]byte{"len": 'l'}}.parse(u)
	if err != nil {
		return usage(u, err)
	}
	b, exit := u.firstBytes(names, set['l'])
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

// firstBytes is all of the input, or its first so many bytes.
func (u *Use) firstBytes(names, limit []string) ([]byte, int) {
	most := MostHeld
	if len(limit) > 0 {
		n, err := strconv.Atoi(limit[len(limit)-1])
		if err != nil || n < 0 {
			return nil, usage(u, fmt.Errorf("%q is no number of bytes", limit[len(limit)-1]))
		}
		most = n
	}
	var b []byte
	exit := u.each(names, func(s *source) bool {
		if len(limit) == 0 {
			b = append(b, s.all()...)
			return true
		}
		more, _ := io.ReadAll(io.LimitReader(s.r, int64(min(most, MostHeld)-len(b))))
		b = append(b, more...)
		return len(b) < most
	})
	return b, exit
}
