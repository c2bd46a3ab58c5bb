package verbs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// tokenVerb is kviz token decode: the header and the claims of a JSON web token, and
// its times as people write them.
func tokenVerb(_ context.Context, inv *use, args []string) int {
	if len(args) != 2 || args[0] != "decode" {
		return inv.badUse()
	}
	parts := strings.Split(strings.TrimSpace(args[1]), ".")
	if len(parts) != 3 {
		return inv.did(errors.New("not a JSON web token: it has three parts with dots between them"))
	}
	for i, name := range []string{"header", "claims"} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil {
			return inv.did(fmt.Errorf("the %s: %w", name, err))
		}
		var out bytes.Buffer
		if err := json.Indent(&out, raw, "", "  "); err != nil {
			return inv.did(fmt.Errorf("the %s: %w", name, err))
		}
		fmt.Fprintln(inv.Out, out.String())
		if i == 1 {
			printTimes(inv, raw)
		}
	}
	return 0
}

// printTimes prints the claims that are times.
func printTimes(inv *use, raw []byte) {
	var claims struct {
		IssuedAt   int64 `json:"iat"`
		Expires    int64 `json:"exp"`
		Kubernetes struct {
			WarnAfter int64 `json:"warnafter"`
		} `json:"kubernetes.io"`
	}
	if json.Unmarshal(raw, &claims) != nil {
		return // the times of somebody else's token are no numbers
	}
	for _, c := range []struct {
		says string
		at   int64
	}{{"issued", claims.IssuedAt}, {"to be replaced", claims.Kubernetes.WarnAfter}, {"ends", claims.Expires}} {
		if c.at != 0 {
			fmt.Fprintf(inv.Out, "# %-14s %s\n", c.says, time.Unix(c.at, 0).UTC().Format(time.RFC3339))
		}
	}
}
