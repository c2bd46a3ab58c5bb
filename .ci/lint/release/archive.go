package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"slices"
	"time"
)

// file is a file of an archive.
type file struct {
	name    string // slash-separated
	text    []byte
	program bool
}

func (f file) mode() int64 {
	if f.program {
		return 0o755
	}
	return 0o644
}

func suffix(goos string) string {
	if goos == "windows" {
		return ".zip"
	}
	return ".tar.gz"
}

// pack makes an archive with all files in one folder. Their order, their time and their
// owner are the same at each call.
func pack(goos, title string, files []file, at time.Time) ([]byte, error) {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var b bytes.Buffer
	if goos == "windows" {
		err := zipped(&b, title, files, at)
		return b.Bytes(), err
	}
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: title + "/" + f.name, Size: int64(len(f.text)), Mode: f.mode(), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.text); err != nil {
			return nil, err
		}
	}
	err = errors.Join(t.Close(), z.Close())
	return b.Bytes(), err
}

func zipped(b *bytes.Buffer, title string, files []file, at time.Time) error {
	z := zip.NewWriter(b)
	for _, f := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: title + "/" + f.name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return err
		}
		if _, err := w.Write(f.text); err != nil {
			return err
		}
	}
	return z.Close()
}
