package jsonstream_test

import (
	"fmt"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

func Example() {
	var s jsonstream.Scanner
	text := ""
	for _, fragment := range []string{`{"path":"/etc/ho`, "sts\",\"li", "ne\":12", ",\"note\":\"two\nlines\"}"} {
		text += s.Write([]byte(fragment))
		valid, closing := s.Prefix()
		fmt.Println(text[:valid] + closing)
	}
	r := s.Finish()
	fmt.Println(r.JSON == text+r.Tail, r.Repaired, r.Error == "")
	// Output:
	// {"path":"/etc/ho"}
	// {"path":"/etc/hosts"}
	// {"path":"/etc/hosts"}
	// {"path":"/etc/hosts","line":12,"note":"two\nlines"}
	// true true true
}
