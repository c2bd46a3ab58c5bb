package etcdapi

import "net"

// On has the server open its ports on another network than the machine's.
func (c *Config) On(open func(network, address string) (net.Listener, error)) { c.open = open }
