// Package accumulate folds the events of a stream into the message, for Go
// programs that use the stubs in gen/llmd/v1.
//
// An answer comes as events: each block of its content has a start, deltas and an
// end, and a terminal event closes the stream. The final message is in the
// terminal event, so a program that only wants the answer need not fold at all.
// One that shows the answer while it comes, keeps what there was when the
// connection broke, or reads tool arguments early needs the message so far:
//
//	var a accumulate.Accumulator
//	for {
//		event, err := stream.Recv()
//		if err == io.EOF {
//			break
//		}
//		if err != nil {
//			return a.Message(), err // the partial message and the gRPC status
//		}
//		a.Add(event)
//	}
//	return a.Message(), a.Err()
//
// [Collect] is this loop.
//
// The rules of folding are part of the contract. They are written down, with
// examples that every client can be tested with, in proto/vectors.
package accumulate
