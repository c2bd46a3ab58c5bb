package serve

// Unread is how many bytes wait for clients: answers, and events of watches.
func (h *Handler) Unread() (answers, events int) {
	h.unread.mu.Lock()
	defer h.unread.mu.Unlock()
	return h.unread.sum, h.unread.events
}

// Encoded is how often an event of a watch was encoded.
func (h *Handler) Encoded() int {
	h.encoded.mu.Lock()
	defer h.encoded.mu.Unlock()
	return h.encoded.times
}

// MostUnread is what Unread may come to.
const MostUnread = mostUnread
