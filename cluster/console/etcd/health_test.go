package etcd

import "testing"

// In whichever order the members' answers came, they are shown in the one they
// were asked in; lines that are of no member stay.
func TestHealthIsShownInOrder(t *testing.T) {
	members := []string{"a", "b", "aa"}
	for format, c := range map[string]struct{ came, want string }{
		"simple": {
			"http://aa:2379 is healthy: took = 1ms\nhttp://a:2379 is healthy: took = 9ms\nhttp://b:2379 is healthy: took = 3ms\n",
			"http://a:2379 is healthy: took = 9ms\nhttp://b:2379 is healthy: took = 3ms\nhttp://aa:2379 is healthy: took = 1ms\n",
		},
		"table": {
			"┌────┐\n│ endpoint │ health │\n├────┤\n│ b:2379 │ true │\n│ a:2379 │ false │\n└────┘\n",
			"┌────┐\n│ endpoint │ health │\n├────┤\n│ a:2379 │ false │\n│ b:2379 │ true │\n└────┘\n",
		},
		"json": {
			`[{"endpoint":"b:2379","health":true},{"endpoint":"a:2379","health":false}]` + "\n",
			`[{"endpoint":"a:2379","health":false},{"endpoint":"b:2379","health":true}]` + "\n",
		},
		"fields": {
			"\"Endpoint\" : \"b:2379\"\n\"Health\" : true\n\n\"Endpoint\" : \"a:2379\"\n\"Health\" : false\n\n",
			"\"Endpoint\" : \"a:2379\"\n\"Health\" : false\n\n\"Endpoint\" : \"b:2379\"\n\"Health\" : true\n\n",
		},
	} {
		t.Run(format, func(t *testing.T) {
			if got := string(sorted([]byte(c.came), format, members)); got != c.want {
				t.Errorf("shown as\n%s\nnot as\n%s", got, c.want)
			}
		})
	}
}
