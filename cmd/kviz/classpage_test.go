package main

import (
	"net"
	"testing"
)

// TestAddressesOfOneMachine: where others may come in, the class has a code.
func TestAddressesOfOneMachine(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:2222": true, "localhost:2222": true, "[::1]:2222": true, "127.0.0.2:1": true, "0.0.0.0:2222": false, ":2222": false, "[::]:2222": false,
		"192.0.2.7:2222": false, "lab.example.org:2222": false, "localhost.example.org:2222": false, "127.0.0.1": false, "": false,
	} {
		if got := alone(address); got != want {
			t.Errorf("%q is of this machine alone: %v, want %v", address, got, want)
		}
	}
}

// TestThePagesAddress is what students type.
func TestThePagesAddress(t *testing.T) {
	for _, c := range []struct {
		at   net.Addr
		want string
	}{
		{nil, ""},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 8080}, "http://192.0.2.7:8080"},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 80}, "http://192.0.2.7"},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8::7"), Port: 8080}, "http://[2001:db8::7]:8080"},
	} {
		if got := (&classPage{at: c.at}).url(); got != c.want {
			t.Errorf("%v is %q, want %q", c.at, got, c.want)
		}
	}
}
