package steady

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Check is [rapid.Check] from the same seed each time, [Seed], unless -rapid.seed or
// RAPID_SEED names another.
func Check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	fixOnce.Do(fix)
	rapid.Check(t, property)
}

// Seed is where everything random in a test begins: 1, or what KVIZ_SEED says.
func Seed() uint64 {
	text, ok := os.LookupEnv("KVIZ_SEED")
	if !ok {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seed == 0 {
		panic(fmt.Sprintf("KVIZ_SEED is %q: it must be a positive number", text))
	}
	return seed
}

var fixOnce sync.Once

// fix sets rapid's own flag, which every property of the process reads when it begins; 0
// means that rapid draws a seed.
func fix() {
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		if err := f.Value.Set(strconv.FormatUint(Seed(), 10)); err != nil {
			panic(err) // a number, written as one
		}
	}
}
