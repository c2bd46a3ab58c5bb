package etcdtool

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/pkg/v3/cobrautl"
)

// hashKV is etcdutl hashkv over a copy of the file: etcd's own opens it as a server does,
// and rewrites it.
func hashKV() *cobra.Command {
	cmd := etcdutl.NewHashKVCommand()
	cmd.Short += " (read from a copy; the file stays as it is)"
	hash := cmd.Run
	cmd.Run = func(cmd *cobra.Command, args []string) {
		path, err := copyDatabase(args[0])
		if err != nil {
			cobrautl.ExitWithError(cobrautl.ExitError, err)
		}
		defer os.Remove(path)
		hash(cmd, []string{path})
	}
	return cmd
}

// copyDatabase copies a file that is a database.
func copyDatabase(from string) (path string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp("", "etcdutl-hashkv-*.db")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Close())
	if err == nil {
		// etcd's code ends the process where it is none, and would leave the copy.
		var db *bbolt.DB
		if db, err = bbolt.Open(out.Name(), 0o600, &bbolt.Options{ReadOnly: true}); err == nil {
			err = db.Close()
		}
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", from, err), os.Remove(out.Name()))
	}
	return out.Name(), nil
}
