// Command apidoc writes docs/api.md, the reference of the contract, from the
// comments in proto/ as they are in the descriptor set:
//
//	go run ./apidoc -set ../gen/llmd.binpb -out ../docs/api.md
//
// With -check it writes nothing and fails where the page is not what it would write.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	set := flag.String("set", "../gen/llmd.binpb", "descriptor set with source information")
	out := flag.String("out", "../docs/api.md", "page to write")
	check := flag.Bool("check", false, "only compare")
	flag.Parse()
	if err := run(*set, *out, *check); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

func run(set, out string, check bool) error {
	data, err := os.ReadFile(set)
	if err != nil {
		return err
	}
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(data, &files); err != nil {
		return err
	}
	registry, err := protodesc.NewFiles(&files)
	if err != nil {
		return err
	}
	text, err := page(registry)
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(out, text, 0o644)
	}
	have, err := os.ReadFile(out)
	if err == nil && !bytes.Equal(have, text) {
		err = errors.New(out + " is stale: run make api")
	}
	return err
}
