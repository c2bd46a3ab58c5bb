package tools

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// base64Tool is base64, which Secrets are shown in, and base64 -d.
func base64Tool(u *Use) int {
	set, names, err := options(u, "d", "w")
	columns := 76
	if w, ok := set['w']; err == nil && ok {
		if columns, err = strconv.Atoi(w); err != nil || columns < 0 {
			err = fmt.Errorf("-w %q: want a number of columns, 0 for one line", w)
		}
	}
	if err != nil {
		return usage(u, err)
	}
	b, exit := inputBytes(u, names, "")
	if exit != 0 {
		return exit
	}
	if set['d'] != "" {
		plain, err := base64.StdEncoding.DecodeString(strings.NewReplacer("\n", "", "\r", "").Replace(string(b)))
		if err != nil {
			fmt.Fprintln(u.Err, "base64: invalid input")
			return 1
		}
		_, _ = u.Out.Write(plain)
		return 0
	}
	text := base64.StdEncoding.EncodeToString(b)
	for columns > 0 && len(text) > columns {
		fmt.Fprintln(u.Out, text[:columns])
		text = text[columns:]
	}
	fmt.Fprintln(u.Out, text)
	return 0
}
