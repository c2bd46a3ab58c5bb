package object

import "strings"

// unfold joins what YAML has folded: a long text goes on in lines below it, further in,
// where otherwise only what is below a key stands. Read line by line these would look like fields.
func unfold(lines []string) []string {
	out := make([]string, 0, len(lines))
	var text, double bool // the last line ends in a text that may go on, in double quotes
	var at int            // where its key begins
	for _, l := range lines {
		body := strings.TrimLeft(l, " ")
		in := len(l) - len(body)
		if text && (in > at || body == "") {
			if double && strings.HasPrefix(body, `\ `) { // more spaces than the one where the line ends
				body = body[1:]
			}
			out[len(out)-1] += " " + body
			continue
		}
		out = append(out, l)
		text, double, at = begins(body, in)
	}
	return out
}

// begins reports whether a line begins a text that may go on, whether in double quotes, and where
// what it belongs to begins. A text in a block ("|") is written as it is.
func begins(body string, in int) (text, double bool, at int) {
	for strings.HasPrefix(body, "- ") {
		body = body[2:]
		in += 2
	}
	_, value, field := cutField(body)
	if !field {
		if opens(body) {
			return false, false, in
		}
		return true, strings.HasPrefix(body, `"`), in - 1 // of a list: it goes on below itself
	}
	return value != "" && !strings.ContainsAny(value[:1], "|>[{"), strings.HasPrefix(value, `"`), in
}

// cutField cuts a line into a field's name and its value. A text that is written in quotes
// may have a colon within, and a name may be in quotes too.
func cutField(body string) (name, value string, field bool) {
	n := quoted(body)
	if n == 0 {
		return strings.Cut(body, ": ")
	}
	if value, field = strings.CutPrefix(body[n:], ": "); field {
		return body[:n], value, true
	}
	return body, "", false
}

// opens reports whether a line is a name alone, whose fields stand below.
func opens(body string) bool {
	if n := quoted(body); n > 0 {
		return body[n:] == ":"
	}
	return strings.HasSuffix(body, ":")
}

// quoted is how long the text in quotes is with which a line begins; 0 where it begins with none, its whole
// length where the text goes on.
func quoted(body string) int {
	if body == "" || body[0] != '"' && body[0] != '\'' {
		return 0
	}
	for i := 1; i < len(body); i++ {
		switch {
		case body[0] == '"' && body[i] == '\\':
			i++
		case body[i] == body[0] && body[0] == '\'' && strings.HasPrefix(body[i+1:], "'"):
			i++
		case body[i] == body[0]:
			return i + 1
		}
	}
	return len(body)
}
