package console

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// hexdump is hexdump -C, with which Kubernetes' documentation looks at what etcd
// holds.
func hexdump(_ context.Context, inv *Invocation) int {
	set, names, err := options(inv, "C", "n")
	if err == nil && set['C'] == "" {
		err = fmt.Errorf("this is a small hexdump: it knows hexdump -C [-n BYTES] [FILE]")
	}
	if err != nil {
		return usage(inv, err)
	}
	b, exit := inputBytes(inv, names, set['n'])
	if exit != 0 {
		return exit
	}
	out := bufio.NewWriter(inv.Out)
	defer out.Flush()
	d := hex.Dumper(out)
	_, _ = d.Write(b)
	_ = d.Close()
	if len(b) > 0 {
		fmt.Fprintf(out, "%08x\n", len(b))
	}
	return 0
}

// xxd is xxd without options but -l.
func xxd(_ context.Context, inv *Invocation) int {
	set, names, err := options(inv, "", "l")
	if err != nil {
		return usage(inv, err)
	}
	b, exit := inputBytes(inv, names, set['l'])
	if exit != 0 {
		return exit
	}
	out := bufio.NewWriter(inv.Out)
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
func inputBytes(inv *Invocation, names []string, limit string) ([]byte, int) {
	r, done, err := input(inv, names)
	if err != nil {
		return nil, usage(inv, err)
	}
	defer done()
	if limit != "" {
		var n int64
		if _, err := fmt.Sscanf(limit, "%d", &n); err != nil || n < 0 {
			return nil, usage(inv, fmt.Errorf("%q is no number of bytes", limit))
		}
		r = io.LimitReader(r, n)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, usage(inv, err)
	}
	return b, 0
}

// base64Tool is base64, which Secrets are shown in, and base64 -d.
func base64Tool(_ context.Context, inv *Invocation) int {
	set, names, err := options(inv, "d", "w")
	if err != nil {
		return usage(inv, err)
	}
	b, exit := inputBytes(inv, names, "")
	if exit != 0 {
		return exit
	}
	if set['d'] != "" {
		plain, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(string(b)))
		if err != nil {
			fmt.Fprintln(inv.Err, "base64: invalid input")
			return 1
		}
		_, _ = inv.Out.Write(plain)
		return 0
	}
	text := base64.StdEncoding.EncodeToString(b)
	for set['w'] != "0" && len(text) > 76 {
		fmt.Fprintln(inv.Out, text[:76])
		text = text[76:]
	}
	fmt.Fprintln(inv.Out, text)
	return 0
}
