package theme

import "testing"

// A term's colour says nothing of how things are: it is none of those that warn.
func TestNoTermWarns(t *testing.T) {
	for term := Term0; term <= Term5; term++ {
		for _, warns := range []int{int(Warn), int(Bad), int(Busy), int(Past), int(Key)} {
			x, y := inks[term], inks[warns]
			if x.dark == y.dark || x.light == y.light || x.ansi == y.ansi {
				t.Errorf("term %d looks like %c", term-Term0, Letter(uint8(warns)))
			}
		}
		for other := Term0; other < term; other++ {
			if x, y := inks[term], inks[other]; x.dark == y.dark || x.light == y.light || x.ansi == y.ansi {
				t.Errorf("terms %d and %d look alike", term-Term0, other-Term0)
			}
		}
	}
}
