package console

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// base64Tool is base64, which Secrets are shown in, and base64 -d.
func base64Tool(_ context.Context, inv *Invocation) int {
	set, names, err := options(inv, "d", "w")
	columns := 76
	if w, ok := set['w']; err == nil && ok {
		if columns, err = strconv.Atoi(w); err != nil || columns < 0 {
			err = fmt.Errorf("-w %q: want a number of columns, 0 for one line", w)
		}
	}
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
	for columns > 0 && len(text) > columns {
		fmt.Fprintln(inv.Out, text[:columns])
		text = text[columns:]
	}
	fmt.Fprintln(inv.Out, text)
	return 0
}
