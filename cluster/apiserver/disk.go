package apiserver

import (
	"slices"

	"kviz/cluster/apiserver/audit"
	"kviz/cluster/apiserver/configfile"
	"kviz/cluster/apiserver/encrypt"
	"kviz/cluster/apiserver/webhook"
)

// Disk is what is on the disk of the server's machine: its configurations and its audit
// log. It outlives the server's process.
type Disk struct {
	encryption *encrypt.AtRest
	audit      *audit.Auditor
	configs    *configfile.Files
}

// ReadFile is what a file holds. The error of a file that is not there is fs.ErrNotExist.
func (d *Disk) ReadFile(name string) ([]byte, error) {
	if name == encrypt.File && d.encryption.Content() != nil {
		return d.encryption.Content(), nil
	}
	if file := d.configs.Content(name); file != nil {
		return file, nil
	}
	if file := webhook.File(name); file != nil {
		return file, nil
	}
	return d.audit.ReadFile(name)
}

// Files are the names of the files that ReadFile can read.
func (d *Disk) Files() []string {
	var names []string
	if d.encryption.Content() != nil {
		names = append(names, encrypt.File)
	}
	names = append(names, d.configs.Paths()...)
	names = append(names, webhook.Files()...)
	names = append(names, d.audit.Files()...)
	slices.Sort(names)
	return names
}

// copy takes the files and flags of another server's machine: what is configured for one is
// configured for all, until a file of one is changed.
func (d *Disk) copy(from *Disk) {
	d.encryption.Copy(from.encryption)
	d.audit.Copy(from.audit)
	d.configs.Copy(from.configs)
}
