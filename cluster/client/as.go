package client

// As finds what more than Interface a connection can do, also one that another stands
// before: that one's Unwrap gives it.
func As[T any](c Interface) (T, bool) {
	for {
		if t, ok := c.(T); ok {
			return t, true
		}
		before, ok := c.(interface{ Unwrap() Interface })
		if !ok {
			var none T
			return none, false
		}
		c = before.Unwrap()
	}
}
