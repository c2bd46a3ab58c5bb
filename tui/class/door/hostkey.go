package door

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	gossh "golang.org/x/crypto/ssh"
)

// HostKey is the key by which students know this machine again: it is made once, in a folder. A key
// that others can read or write is no proof of anything, and is refused.
func HostKey(dir string) (gossh.Signer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	path := filepath.Join(dir, "host_ed25519")
	text, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("host key: %w", err)
	}
	key, err := gossh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("host key: %s: %w; remove it, and a new one is made", path, err)
	}
	return key, nil
}

func readKey(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	// On Windows the folder is the user's own, and a mode says nothing.
	if mode := info.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("%s must be a file of mode 0600, and is %s: others could pretend to be this machine; remove it, and a new one is made", path, mode)
	}
	return os.ReadFile(path)
}

// makeKey writes a new key beside its place and links it there, so that of two processes that start at the
// same moment both use the same key, and nobody reads half of one.
func makeKey(path string) ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := gossh.MarshalPrivateKey(private, "kviz class")
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".host-*") // of mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(block))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path)
}
