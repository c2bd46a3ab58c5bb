package tools

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// base64Tool is base64, which Secrets are shown in, and base64 -d.
func base64Tool(u *Use) int {
	set, names, err := grammar{flags: "dDi", valued: "wb", long: map[string]byte{"decode": 'd', "wrap": 'w', "ignore-garbage": 'i'}}.parse(u)
	columns := 76
	if err == nil {
		for _, letter := range []byte("wb") {
			if columns, err = set.number(letter, columns); err != nil {
				v, _ := set.last(letter)
				err = fmt.Errorf("invalid wrap size: '%s'", v)
				break
			}
		}
	}
	if err != nil {
		return usage(u, err)
	}
	b, exit := u.whole(names)
	if exit != 0 {
		return exit
	}
	if set.has("dD") {
		return decode(u, string(b), set.has("i"))
	}
	text := base64.StdEncoding.EncodeToString(b)
	for columns > 0 && len(text) > columns {
		fmt.Fprintln(u.Out, text[:columns])
		text = text[columns:]
	}
	if columns > 0 && text != "" {
		text += "\n"
	}
	fmt.Fprint(u.Out, text)
	return 0
}

// decode prints what it can decode before it says that the rest is invalid, as GNU's does.
func decode(u *Use, text string, lenient bool) int {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
	text = strings.Map(func(r rune) rune {
		if r == '\n' || lenient && !strings.ContainsRune(letters, r) {
			return -1
		}
		return r
	}, text)
	plain := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(plain, []byte(text))
	var at base64.CorruptInputError
	if errors.As(err, &at) {
		good := min(int(at), len(text)) / 4 * 4
		n, _ = base64.StdEncoding.Decode(plain, []byte(text[:good]))
		if rest := strings.TrimRight(text[good:], "="); len(rest) < 4 && strings.Trim(rest, letters[:64]) == "" && len(rest) > 1 {
			more, _ := base64.RawStdEncoding.DecodeString(rest) // whose padding is missing
			plain = append(plain[:n], more...)
			n = len(plain)
		}
	}
	_, _ = u.Out.Write(plain[:n])
	if err != nil {
		u.complain(errors.New("invalid input"))
		return 1
	}
	return 0
}
