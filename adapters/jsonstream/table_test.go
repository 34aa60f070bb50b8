package jsonstream_test

import (
	"testing"

	"github.com/llmd-dev/llmd/adapters/jsonstream"
)

// row is one text and what the contract (1.4, 1.22, 2.9) makes of it, worked out by hand.
type row struct {
	in       string
	valid    int
	closing  string
	json     string
	repaired bool
	fails    bool
}

// rows are texts that models were seen to send or that cut ones look like.
var rows = []row{
	// Blank and whole texts.
	{in: ``, closing: `{}`, json: `{}`},
	{in: `   `, closing: `{}`, json: `{}`},
	{in: `{}`, valid: 2, json: `{}`},
	{in: ` {} `, valid: 3, json: ` {} `},
	{in: `{"a":1,"a":2}`, valid: 13, json: `{"a":1,"a":2}`},
	{in: `{"":0}`, valid: 6, json: `{"":0}`},
	{in: `{"__proto__":{"x":1}}`, valid: 21, json: `{"__proto__":{"x":1}}`},
	{in: `{"n":12345678901234567890}`, valid: 26, json: `{"n":12345678901234567890}`},
	{in: `{"n":[-0,0.50,1E+2,-1.0e-07]}`, valid: 29, json: `{"n":[-0,0.50,1E+2,-1.0e-07]}`},

	// Cut between values.
	{in: `{`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a"`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1,`, valid: 6, closing: `}`, json: `{"a":1}`, fails: true},
	{in: `{"a":1,"b`, valid: 6, closing: `}`, json: `{"a":1}`, fails: true},
	{in: `{"a":1,"b":`, valid: 6, closing: `}`, json: `{"a":1}`, fails: true},
	{in: `{"a":"x"  ,  `, valid: 8, closing: `}`, json: `{"a":"x"}`, fails: true},
	{in: `{"a":[`, valid: 6, closing: `]}`, json: `{"a":[]}`, fails: true},
	{in: `{"a":{`, valid: 6, closing: `}}`, json: `{"a":{}}`, fails: true},

	// Cut inside a string.
	{in: `{"path":"/etc/ho`, valid: 16, closing: `"}`, json: `{"path":"/etc/ho"}`, fails: true},
	{in: `{"a":"x`, valid: 7, closing: `"}`, json: `{"a":"x"}`, fails: true},
	{in: `{"a":"x  `, valid: 9, closing: `"}`, json: `{"a":"x  "}`, fails: true},
	{in: `{"a":"é`, valid: 8, closing: `"}`, json: `{"a":"é"}`, fails: true},
	{in: `{"a":"x\`, valid: 7, closing: `"}`, json: `{"a":"x"}`, fails: true},
	{in: `{"a":"x\u00`, valid: 7, closing: `"}`, json: `{"a":"x"}`, fails: true},
	{in: `{"a":"x\u0041`, valid: 13, closing: `"}`, json: `{"a":"x\u0041"}`, fails: true},
	{in: `{"a":"x\n`, valid: 9, closing: `"}`, json: `{"a":"x\n"}`, fails: true},
	{in: `{"a":"b\"c`, valid: 10, closing: `"}`, json: `{"a":"b\"c"}`, fails: true},
	{in: `{"a":"x","b":"y\`, valid: 15, closing: `"}`, json: `{"a":"x","b":"y"}`, fails: true},
	{in: `{"a":"\ud83d`, valid: 6, closing: `"}`, json: `{"a":""}`, fails: true},
	{in: `{"a":"\ud83d\ude0`, valid: 6, closing: `"}`, json: `{"a":""}`, fails: true},
	{in: `{"a":"\ud83d\ude00`, valid: 18, closing: `"}`, json: `{"a":"\ud83d\ude00"}`, fails: true},
	{in: `{"a":{"b":[{"c":"d`, valid: 18, closing: `"}]}}`, json: `{"a":{"b":[{"c":"d"}]}}`, fails: true},

	// Literals are shown with their last letter, numbers with the byte after it.
	{in: `{"a":t`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":tr`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":fal`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":n`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":nul`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":true`, valid: 9, closing: `}`, json: `{"a":true}`, fails: true},
	{in: `{"a":[false`, valid: 11, closing: `]}`, json: `{"a":[false]}`, fails: true},
	{in: `{"a":null`, valid: 9, closing: `}`, json: `{"a":null}`, fails: true},
	{in: `{"a":0`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `  {"a":1`, valid: 3, closing: `}`, json: `  {}`, fails: true},
	{in: `{"a":-`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":-1`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1.`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1.5`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1e`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1e5`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1e+`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1 `, valid: 6, closing: `}`, json: `{"a":1}`, fails: true},
	{in: `{"a":[1,{"b":2`, valid: 9, closing: `}]}`, json: `{"a":[1,{}]}`, fails: true},
	{in: `{"a":[1,2],"b":[3`, valid: 16, closing: `]}`, json: `{"a":[1,2],"b":[]}`, fails: true},

	// Mended inside strings.
	{in: "{\"a\":\"line\nbreak\"}", valid: 19, json: `{"a":"line\nbreak"}`, repaired: true},
	{in: "{\"a\":\"tab\there", valid: 15, closing: `"}`, json: `{"a":"tab\there"}`, repaired: true, fails: true},
	{in: `{"a":"C:\dir"}`, valid: 15, json: `{"a":"C:\\dir"}`, repaired: true},
	{in: `{"a":"C:\dir`, valid: 13, closing: `"}`, json: `{"a":"C:\\dir"}`, repaired: true, fails: true},
	{in: `{"a":"\u12"}`, valid: 13, json: `{"a":"\\u12"}`, repaired: true},
	{in: `{"a":"\uZZZZ"}`, valid: 15, json: `{"a":"\\uZZZZ"}`, repaired: true},
	{in: `{"p":"C:\Users\me"}`, valid: 21, json: `{"p":"C:\\Users\\me"}`, repaired: true},
	{in: "{\"a\":\"\x01x\"}", valid: 15, json: `{"a":"\u0001x"}`, repaired: true},
	{in: "{\"a\":\"\b\t\n\f\r\x1f\x7f\"}", valid: 25, json: `{"a":"\b\t\n\f\r\u001f` + "\x7f" + `"}`, repaired: true},
	{in: "{\"k\n\":0}", valid: 9, json: `{"k\n":0}`, repaired: true},
	{in: "{\"a\":\"\\\n\"}", valid: 12, json: `{"a":"\\\n"}`, repaired: true},
	{in: `{"a":"\é"}`, valid: 12, json: `{"a":"\\é"}`, repaired: true},
	{in: "{\"a\":\"\xff\"}", valid: 11, json: "{\"a\":\"\ufffd\"}", repaired: true},
	{in: "{\"a\":\"\xe2\x82\"}", valid: 14, json: "{\"a\":\"\ufffd\ufffd\"}", repaired: true},
	{in: "{\"a\":\"\xed\xa0\xbd\"}", valid: 17, json: "{\"a\":\"\ufffd\ufffd\ufffd\"}", repaired: true},

	// Surrogates that turn out to be alone.
	{in: `{"a":"\ud83d x"}`, valid: 16, json: `{"a":"\ufffd x"}`, repaired: true},
	{in: `{"a":"\ud83d"}`, valid: 14, json: `{"a":"\ufffd"}`, repaired: true},
	{in: `{"a":"\uDE00"}`, valid: 14, json: `{"a":"\ufffd"}`, repaired: true},
	{in: `{"a":"\ud83d\n"}`, valid: 16, json: `{"a":"\ufffd\n"}`, repaired: true},
	{in: `{"a":"\ud83d\u0041"}`, valid: 20, json: `{"a":"\ufffd\u0041"}`, repaired: true},
	{in: `{"a":"\ud83d\ud83d\ude00"}`, valid: 26, json: `{"a":"\ufffd\ud83d\ude00"}`, repaired: true},
	{in: `{"a":"\ud83d\ude0z"}`, valid: 21, json: `{"a":"\ufffd\\ude0z"}`, repaired: true},
	{in: `{"a":"\ud83d\q"}`, valid: 17, json: `{"a":"\ufffd\\q"}`, repaired: true},
	{in: `{"a":"\uD83D\uDE00\ud7ff\ue000"}`, valid: 32, json: `{"a":"\uD83D\uDE00\ud7ff\ue000"}`},

	// Faults outside strings: the last good prefix is held.
	{in: `{"a":01}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":-01}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":--1}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1.5.2}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1x}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":+1}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":.5}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":NaN}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":Infinity`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":tru }`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1,}`, valid: 6, closing: `}`, json: `{"a":1}`, fails: true},
	{in: `{"a":[1,]}`, valid: 7, closing: `]}`, json: `{"a":[1]}`, fails: true},
	{in: `{,}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{'a':1}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{a:1}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a" "b"}`, valid: 1, closing: `}`, json: `{}`, fails: true},
	{in: `{"a":1 "b":2}`, valid: 6, closing: `}`, json: `{"a":1}`, fails: true},
	{in: `{"a":"x" "b":"y"}`, valid: 8, closing: `}`, json: `{"a":"x"}`, fails: true},
	{in: `{"a": [}`, valid: 7, closing: `]}`, json: `{"a": []}`, fails: true},
	{in: `{"a":[1}`, valid: 7, closing: `]}`, json: `{"a":[1]}`, fails: true},
	{in: `{"a":"x"]`, valid: 8, closing: `}`, json: `{"a":"x"}`, fails: true},
	{in: "{\"a\":\xff}", valid: 1, closing: `}`, json: `{}`, fails: true},

	// Text after the object.
	{in: `{"a":1}garbage`, valid: 7, json: `{"a":1}`, fails: true},
	{in: `{"a":1}{"b":2}`, valid: 7, json: `{"a":1}`, fails: true},
	{in: `{"a":1}}`, valid: 7, json: `{"a":1}`, fails: true},

	// Not an object.
	{in: `}`, closing: `{}`, json: `{}`, fails: true},
	{in: `[`, closing: `{}`, json: `{}`, fails: true},
	{in: `[1,2`, closing: `{}`, json: `{}`, fails: true},
	{in: `[1,2,`, closing: `{}`, json: `{}`, fails: true},
	{in: `[[[`, closing: `{}`, json: `{}`, fails: true},
	{in: `null`, closing: `{}`, json: `{}`, fails: true},
	{in: `true`, closing: `{}`, json: `{}`, fails: true},
	{in: `"str`, closing: `{}`, json: `{}`, fails: true},
	{in: `"{\"a\":1}"`, closing: `{}`, json: `{}`, fails: true},
	{in: `123`, closing: `{}`, json: `{}`, fails: true},
	{in: `12.`, closing: `{}`, json: `{}`, fails: true},
	{in: `hello`, closing: `{}`, json: `{}`, fails: true},
	{in: "'''json\n{\"a\":1}", closing: `{}`, json: `{}`, fails: true},
	{in: "```json\n{\"a\":1}\n```", closing: `{}`, json: `{}`, fails: true},
	{in: "\ufeff{\"a\":1}", closing: `{}`, json: `{}`, fails: true},
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, r := range rows {
		t.Run(r.in, func(t *testing.T) {
			t.Parallel()
			for size := 1; size <= len(r.in)+1; size++ {
				checkRow(t, r, size)
			}
			if got := jsonstream.Repair([]byte(r.in)); got.JSON != r.json || got.Tail != "" {
				t.Errorf("Repair gives %q, tail %q; want %q", got.JSON, got.Tail, r.json)
			}
		})
	}
}

// checkRow feeds the row in fragments of one size.
func checkRow(t *testing.T, r row, size int) {
	t.Helper()
	var s jsonstream.Scanner
	for in := []byte(r.in); len(in) > 0; in = in[min(size, len(in)):] {
		s.Write(in[:min(size, len(in))])
	}
	for _, when := range []string{"before", "after"} {
		if valid, closing := s.Prefix(); valid != r.valid || closing != r.closing {
			t.Errorf("fragments of %d: prefix %s the end %d %q, want %d %q", size, when, valid, closing, r.valid, r.closing)
		}
		got := s.Finish()
		if got.JSON != r.json || got.Repaired != r.repaired || (got.Error != "") != r.fails {
			t.Errorf("fragments of %d: got %+v, want JSON %q, repaired %t, error %t", size, got, r.json, r.repaired, r.fails)
		}
	}
}
