package apiserver

// strategy is what is particular about writing one kind.
type strategy struct{}
