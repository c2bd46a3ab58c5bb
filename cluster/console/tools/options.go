package tools

import (
	"fmt"
	"strconv"
	"strings"
)

// options reads single-letter options: flags are letters without a value,
// valued those with one. What is left are operands. "-5" is -n 5 where n is
// valued.
func options(u *Use, flags, valued string) (map[byte]string, []string, error) {
	set := map[byte]string{}
	args := u.Args[1:]
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			return set, args[1:], nil
		}
		if len(a) < 2 || a[0] != '-' {
			break
		}
		args = args[1:]
		if _, err := strconv.Atoi(a[1:]); err == nil && strings.Contains(valued, "n") {
			set['n'] = a[1:]
			continue
		}
		for i := 1; i < len(a); i++ {
			switch {
			case strings.IndexByte(flags, a[i]) >= 0:
				set[a[i]] = "true"
				continue
			case strings.IndexByte(valued, a[i]) >= 0:
				v := a[i+1:]
				if v == "" {
					if len(args) == 0 {
						return nil, nil, fmt.Errorf("option -%c needs a value", a[i])
					}
					v, args = args[0], args[1:]
				}
				set[a[i]] = v
			default:
				return nil, nil, fmt.Errorf("unknown option -%c (this is a small %s: it knows %s)", a[i], u.Args[0], known(flags+valued))
			}
			break
		}
	}
	return set, args, nil
}

func known(letters string) string {
	if letters == "" {
		return "no options"
	}
	return "-" + strings.Join(strings.Split(letters, ""), ", -")
}

func usage(u *Use, err error) int {
	fmt.Fprintf(u.Err, "%s: %v\n", u.Args[0], err)
	return 2
}
