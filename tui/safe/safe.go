// Package safe is the only place of the explorer that starts goroutines. A
// panic in one of them would otherwise end the process with the terminal
// still in raw mode and the alternate screen; here it is caught, kept with
// its stack, and handed to whoever ends the program.
//
// Start reading at [Group.Go].
package safe

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Crash is a caught panic.
type Crash struct {
	Value any
	Stack []byte
}

// Error is the panic's message and stack.
func (c *Crash) Error() string { return fmt.Sprintf("panic: %v\n\n%s", c.Value, c.Stack) }

// Group starts goroutines and keeps their first panic.
type Group struct {
	mu    sync.Mutex
	first *Crash
	onDie func()
	wg    sync.WaitGroup
}

// NewGroup makes a group; onDie is called once, after the first panic.
func NewGroup(onDie func()) *Group { return &Group{onDie: onDie} }

// Go runs f in a goroutine.
func (g *Group) Go(f func()) {
	g.wg.Add(1)
	go func() {
		defer g.wg.Done()
		defer g.Recover()
		f()
	}()
}

// Recover keeps a panic of the calling goroutine. It must be deferred itself.
func (g *Group) Recover() {
	v := recover()
	if v == nil {
		return
	}
	g.Keep(&Crash{Value: v, Stack: debug.Stack()})
}

// Keep keeps a crash if it is the first.
func (g *Group) Keep(c *Crash) {
	g.mu.Lock()
	first := g.first == nil
	if first {
		g.first = c
	}
	g.mu.Unlock()
	if first && g.onDie != nil {
		g.onDie()
	}
}

// Crash is the first panic, or nil.
func (g *Group) Crash() *Crash {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first
}

// Wait waits until all goroutines have ended.
func (g *Group) Wait() { g.wg.Wait() }
