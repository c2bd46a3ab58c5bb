package view

// Marks is how many states a history keeps.
func Marks(h *History) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.marks)
}

// Folds lists the kinds that change the state.
var Folds = folds

// Explains lists the kinds that have words of their own.
var Explains = explains
