package lessons

// SetMark notes progress, as a player does.
func SetMark(p *Progress, id string, m Mark) error { return p.set(id, m) }

// Wait waits until the scripts that the player has begun have ended.
func (p *Player) Wait() {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	<-ended
}
