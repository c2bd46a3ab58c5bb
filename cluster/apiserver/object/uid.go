package object

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"
)

// NewUID draws a random UUID.
func NewUID(r *rand.Rand) types.UID {
	hi, lo := r.Uint64(), r.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return types.UID(fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff))
}
