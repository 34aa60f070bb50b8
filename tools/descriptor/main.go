// Command descriptor writes the messages of google.rpc's error details as a descriptor
// set to standard output. Behind the contract's own set the two are one, by which tools
// without reflection read the details of a status:
//
//	buf build -o gen/llmd.binpb && go run -C tools ./descriptor >> gen/llmd.binpb
package main

import (
	"fmt"
	"os"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "descriptor:", err)
		os.Exit(1)
	}
}

// run leaves out what the file imports, google/protobuf/duration.proto: the contract has
// it, too.
func run() error {
	file := protodesc.ToFileDescriptorProto(errdetails.File_google_rpc_error_details_proto)
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(data)
	return err
}
