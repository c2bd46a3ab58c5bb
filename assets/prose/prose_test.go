package prose

import (
	"slices"
	"testing"
)

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"The watch cache begins anew.", []string{"anew"}},
		{"A command failed: `begin anew`, and it said \"whoever asks\".", nil},
		{"No member is\ntold of it.", []string{"is told"}},
		{"Who steals the certificate of one node has what its pods use.", []string{"Who steals the …"}},
		{"Who reads the audit log?", nil},
		{"who may do what, and by which rule", nil},
		{"It was compacted; who watches there gets 410 Gone.", []string{"; who watches …"}},
		{"An election: who stands?", nil},
		{"One server, which serves all. Who asks it waits.", []string{"Who asks it …"}},
		{"- an item of a list\n- Who asks waits\n", []string{"Who asks waits"}},
		{"| a | Who asks waits |\n", []string{"Who asks waits"}},
		{"Of the requests of which none was answered, so it is.", []string{"of which", "so it is."}},
		{"No quorum, so it is not committed.", nil},
		{"A command that a container has not is not found.", []string{"has not is"}},
		{"It has not started yet.", nil},
	} {
		var got []string
		for _, f := range Faults(c.text) {
			got = append(got, f.Found)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}
