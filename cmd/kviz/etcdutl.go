package main

import (
	"context"

	"kviz/cluster/console/etcdtool"
)

func etcdutlCommand() *command {
	return &command{
		name: "etcdutl", usage: "ARGUMENTS", raw: true,
		short: "etcdutl, for snapshot files and data directories of etcd and of kviz",
		long: `etcd's own etcdutl v3.7.3: snapshot status, snapshot restore, hashkv, defrag, migrate, version. It works on files and
needs no cluster. A snapshot of kviz, saved by etcdctl snapshot save, is a real etcd snapshot.`,
		example: "kviz etcdctl snapshot save backup.db\nkviz etcdutl snapshot status backup.db -w table",
		run: func(_ context.Context, io streams, args []string) error {
			if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
				printHelp(io.out, etcdutlCommand())
				return nil
			}
			etcdtool.Main(etcdtool.Etcdutl, args)
			return nil // it has ended the process
		},
	}
}
