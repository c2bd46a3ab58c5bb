package door

import (
	"context"
	"errors"
	"io"
	"testing"

	"pgregory.net/rapid"

	"kviz/raftstore/steady"
)

// A reader that waits when it ends takes nothing: what is typed then is the next reader's.
func TestAnEndedReaderTakesNoKey(t *testing.T) {
	for how, end := range map[string]func(cancel func(), r *reader, k *keys) *reader{
		"its context ends":     func(cancel func(), _ *reader, k *keys) *reader { cancel(); return k.read(t.Context()) },
		"it is closed":         func(_ func(), r *reader, k *keys) *reader { r.Close(); return k.read(t.Context()) },
		"another one is asked": func(_ func(), _ *reader, k *keys) *reader { return k.read(t.Context()) },
	} {
		t.Run(how, func(t *testing.T) {
			k := newKeys()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			old := k.read(ctx)
			waits := make(chan error, 1)
			go func() {
				n, err := old.Read(make([]byte, 10))
				if n > 0 {
					err = errors.New("it took a key")
				}
				waits <- err
			}()
			next := end(cancel, old, k)
			if err := <-waits; err != io.EOF {
				t.Errorf("the old reader ended with %v", err)
			}
			if !k.put([]byte("F")) {
				t.Fatal("there was no room for a key")
			}
			p := make([]byte, 10)
			if n, err := next.Read(p); n != 1 || p[0] != 'F' || err != nil {
				t.Errorf("the next reader got %q, %v", p[:n], err)
			}
		})
	}
}

// Whatever is typed is read once and in order, by however many readers one after another.
func TestKeysAreReadOnceAndInOrder(t *testing.T) {
	steady.Check(t, func(r *rapid.T) {
		k, now := newKeys(), (*reader)(nil)
		var typed, got []byte
		r.Repeat(map[string]func(*rapid.T){
			"type": func(r *rapid.T) {
				p := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(r, "keys")
				typed = append(typed, p...)
				if !k.put(p) {
					r.Fatal("there was no room")
				}
			},
			"next": func(*rapid.T) { now = k.read(t.Context()) },
			"read": func(r *rapid.T) {
				if now == nil || len(got) == len(typed) {
					r.Skip()
				}
				p := make([]byte, rapid.IntRange(1, 30).Draw(r, "at most"))
				n, err := now.Read(p)
				if err != nil {
					r.Fatal(err)
				}
				got = append(got, p[:n]...)
			},
			"": func(r *rapid.T) {
				if string(got) != string(typed[:len(got)]) {
					r.Fatalf("typed %q, read %q", typed, got)
				}
			},
		})
		k.end()
		rest, err := io.ReadAll(k.read(t.Context()))
		if got = append(got, rest...); err != nil || string(got) != string(typed) {
			r.Fatalf("typed %q, read %q, %v", typed, got, err)
		}
	})
}

// What is typed and not read is bounded.
func TestUnreadKeysAreBounded(t *testing.T) {
	k := newKeys()
	if !k.put(make([]byte, maxInput)) || k.put([]byte("x")) {
		t.Error("the room is not maxInput")
	}
	if n, err := k.read(t.Context()).Read(make([]byte, 10)); n != 10 || err != nil {
		t.Fatal(n, err)
	}
	if !k.put([]byte("x")) {
		t.Error("reading makes no room")
	}
}
