package cluster_test

import (
	"regexp"
	"testing"

	"kviz/cluster"
	"kviz/raftstore/steady"
)

// reviews have a UID drawn from the seed.
var reviews = []varies{{regexp.MustCompile(`response\.uid="[-0-9a-f]+"`), `response.uid="…"`}}

// A definition with two versions that a webhook converts, as its author meets it:
// testdata/conversion.txt is what is typed and what is seen, with the webhook up,
// lying, slow and down.
func TestConversionWebhook(t *testing.T) {
	t.Parallel()
	steady.Bubble(t, func(t *testing.T) {
		c := boot(t, cluster.Config{Seed: 1, Bare: true})
		golden(t, "conversion", typed(t, c, "testdata/conversion.txt", reviews, identities, varying))
	})
}
