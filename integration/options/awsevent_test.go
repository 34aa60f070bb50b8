package options

import (
	"bytes"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// awsEvent is one message of an AWS event stream.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
func awsEvent(kind, payload string) string {
	var m eventstream.Message
	for _, h := range [][2]string{{":message-type", "event"}, {":event-type", kind}, {":content-type", "application/json"}} {
		m.Headers.Set(h[0], eventstream.StringValue(h[1]))
	}
	m.Payload = []byte(payload)
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, m); err != nil {
		panic(err) // these small ones can be written
	}
	return b.String()
}
