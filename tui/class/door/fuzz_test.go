package door

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What is typed as a code is compared in one form: capitals, spaces and hyphens make no difference, and everything else does.
func FuzzCode(f *testing.F) {
	for _, typed := range []string{"plum-fern-42", "Plum fern 42", " PLUM--FERN\t42 ", "", "-", "plum-fern-4", "İ", "\xff", strings.Repeat("a-", 200)} {
		f.Add(typed, "plum-fern-42")
	}
	f.Fuzz(func(t *testing.T, typed, code string) {
		plain := plainCode(typed)
		if strings.ContainsAny(plain, " \t") || strings.HasPrefix(plain, "-") || strings.HasSuffix(plain, "-") || strings.Contains(plain, "--") {
			t.Errorf("%q is compared as %q", typed, plain)
		}
		if len(typed) <= 100 && !sameCode(typed, " "+strings.ReplaceAll(typed, " ", " - ")) && len(strings.ReplaceAll(typed, " ", " - ")) < 99 {
			t.Errorf("%q is not the same code with other spaces", typed)
		}
		if same := sameCode(typed, code); same != (plainCode(typed) == plainCode(code)) || same != sameCode(code, typed) {
			t.Errorf("%q and %q: %v", typed, code, same)
		}
	})
}

// An SSH user is a name, and after the last + a word. A word lets nobody have a name that is another's.
func FuzzUser(f *testing.F) {
	for _, user := range []string{"mira", "mira+otter-17", "+", "a+b+c", "mira+", "+otter-17", strings.Repeat("+", 1000), "mira+OTTER 17", "\x1b[31mm+\x00"} {
		f.Add(user)
	}
	f.Fuzz(func(t *testing.T, user string) {
		name, word := splitUser(user)
		if len(name) > 512 || len(word) > 512 || utf8.ValidString(user) && len(user) <= 512 && !strings.HasPrefix(user, name) {
			t.Errorf("%q is %q and %q", user, name, word)
		}
		n := newNames([]string{"ada"})
		mira := &caller{addr: "10.0.0.1"}
		first, _ := n.take(name, "", "", mira)
		again, _ := n.take(name, "", word, &caller{addr: "10.0.0.2"})
		if (first == again) != (word != "" && sameCode(word, first.word)) {
			t.Errorf("%q has %q of one whose word is %q", user, again.name, first.word)
		}
		if err := unsafe(again.name); err != nil {
			t.Errorf("%q becomes %q: %v", user, again.name, err)
		}
	})
}
