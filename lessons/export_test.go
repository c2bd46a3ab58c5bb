package lessons

// SetMark notes progress, as a player does.
func SetMark(p *Progress, id string, m Mark) error { return p.set(id, m) }
