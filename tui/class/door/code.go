package door

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"math/big"
	"strconv"
	"strings"
)

//go:embed words.txt
var wordList string

// words are short English words that are hard to mistake for one another, read aloud or from afar.
var words = strings.Fields(wordList)

// NewCode is a code to come in by, as "plum-fern-42".
func NewCode() string { return draw(words) + "-" + draw(words) + "-" + strconv.Itoa(10+below(90)) }

// newWord is what a visitor shows to be known again, as "otter-17".
func newWord() string { return draw(words) + "-" + strconv.Itoa(10+below(90)) }

func draw(from []string) string { return from[below(len(from))] }

func below(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		panic(err) // crypto/rand gives no errors (Go 1.24)
	}
	return int(i.Int64())
}

// plainCode is a code as it is compared: people write "Plum fern 42".
func plainCode(typed string) string {
	typed = typed[:min(len(typed), 100)]
	return strings.Join(strings.FieldsFunc(strings.ToLower(typed), func(r rune) bool { return r == ' ' || r == '-' || r == '\t' }), "-")
}

// sameCode compares in a time that does not tell how much of a guess was right.
func sameCode(a, b string) bool {
	x, y := sha256.Sum256([]byte(plainCode(a))), sha256.Sum256([]byte(plainCode(b)))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
