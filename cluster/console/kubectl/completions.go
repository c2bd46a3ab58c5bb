package kubectl

import (
	"sync"
	_ "unsafe" // for go:linkname

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// cobra keeps what completes a flag's value in a map of the process, and offers no way to
// take it out again. Each command tree of kubectl puts its own into it, and through them the
// tree's factory, discovery and REST mapper stay: some 300 KiB a command.

//go:linkname flagCompletions github.com/spf13/cobra.flagCompletionFunctions
var flagCompletions map[*pflag.Flag]cobra.CompletionFunc

//go:linkname flagCompletionsLock github.com/spf13/cobra.flagCompletionMutex
var flagCompletionsLock *sync.RWMutex

// forgetCompletions has cobra hold no command tree. Nobody misses them: the console
// completes words by itself (Words).
func forgetCompletions() {
	flagCompletionsLock.Lock()
	defer flagCompletionsLock.Unlock()
	clear(flagCompletions)
}
