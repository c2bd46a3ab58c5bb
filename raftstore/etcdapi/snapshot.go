package etcdapi

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// snapshotPiece is how many bytes one message of a snapshot carries.
const snapshotPiece = 32 * 1024

// shaSize is the trailer of a backup: the SHA-256 of what is before it.
const shaSize = 32

func (f *frontend) backuper() (backuper, error) {
	b, ok := f.server.store.(backuper)
	if !ok {
		return nil, status.Error(codes.Unimplemented, "this store cannot write etcd's database file")
	}
	return b, nil
}

// Snapshot sends the member's state as etcd's database file, in pieces, and
// then the file's SHA-256, which etcdctl appends and etcdutl checks.
func (m *maintenanceServer) Snapshot(_ *pb.SnapshotRequest, stream pb.Maintenance_SnapshotServer) (err error) {
	if err := m.mustBeAdmin(stream.Context()); err != nil {
		return err
	}
	b, err := m.backuper()
	if err != nil {
		return err
	}
	m.settle(stream.Context())
	began := time.Now()
	// How much there is has to be said with the first piece.
	file, err := os.CreateTemp("", "kviz-snapshot-")
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer func() {
		err = errors.Join(err, file.Close(), os.Remove(file.Name()))
	}()
	if err := b.Backup(m.member, file); err != nil {
		return err
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	defer func() { m.numbers.SnapshotSeconds.Observe(time.Since(began).Seconds()) }()
	return sendSnapshot(file, size, m.versionsAt(m.member).Cluster, stream.Send)
}

// sendSnapshot sends a file whose last bytes are its SHA-256, and says which
// version its layout has.
func sendSnapshot(from io.Reader, size int64, version string, send func(*pb.SnapshotResponse) error) error {
	left := size - shaSize
	for left > 0 {
		// gRPC may still hold the piece when Send is back: each has its own memory.
		piece := make([]byte, min(left, snapshotPiece))
		if _, err := io.ReadFull(from, piece); err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
		left -= int64(len(piece))
		if err := send(&pb.SnapshotResponse{RemainingBytes: uint64(left), Blob: piece, Version: version}); err != nil {
			return err
		}
	}
	sha := make([]byte, shaSize)
	if _, err := io.ReadFull(from, sha); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return send(&pb.SnapshotResponse{Blob: sha, Version: version})
}
