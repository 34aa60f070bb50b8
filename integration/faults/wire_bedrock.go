package faults

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// bedrockWire: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html.
// The oversize frame is a prelude that promises 32 MiB.
func bedrockWire() *Wire {
	garbage := message("event", "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"x"}}`)
	garbage[len(garbage)-1] ^= 0xff // the checksum
	large := binary.BigEndian.AppendUint32(nil, 32<<20)
	large = binary.BigEndian.AppendUint32(large, 0)
	large = binary.BigEndian.AppendUint32(large, crc32.ChecksumIEEE(large))
	return &Wire{
		API: "bedrock-converse-stream", ContentType: "application/vnd.amazon.eventstream", Frames: bedrockFrames, Fragments: true,
		Overloaded: message("exception", "serviceUnavailableException", `{"message":"The service is overloaded"}`),
		Garbage:    garbage, Oversize: large,
	}
}

// message is one message of an AWS event stream
// (https://smithy.io/2.0/aws/amazon-eventstream.html).
func message(kind, name, payload string) []byte {
	var head []byte
	for _, h := range [][2]string{{":" + kind + "-type", name}, {":content-type", "application/json"}, {":message-type", kind}} {
		head = append(head, byte(len(h[0])))
		head = append(head, h[0]...)
		head = append(head, 7) // a string
		head = binary.BigEndian.AppendUint16(head, uint16(len(h[1])))
		head = append(head, h[1]...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(12+len(head)+len(payload)+4))
	out = binary.BigEndian.AppendUint32(out, uint32(len(head)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, head...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func bedrockFrames(a Answer) []Frame {
	out := []Frame{{Data: message("event", "messageStart", `{"role":"assistant"}`)}}
	index := 0
	block := func(kind, start, delta string, deltas []string, tail string) {
		if len(deltas) == 0 {
			return
		}
		if start != "" {
			out = append(out, Frame{Data: message("event", "contentBlockStart", fmt.Sprintf(`{"contentBlockIndex":%d,"start":%s}`, index, start))})
		}
		for _, d := range deltas {
			out = append(out, Frame{Kind: kind, Adds: d, Data: message("event", "contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":`+delta+`}`, index, q(d)))})
		}
		if tail != "" {
			out = append(out, Frame{Data: message("event", "contentBlockDelta", fmt.Sprintf(`{"contentBlockIndex":%d,"delta":%s}`, index, tail))})
		}
		out = append(out, Frame{Data: message("event", "contentBlockStop", fmt.Sprintf(`{"contentBlockIndex":%d}`, index))})
		index++
	}
	block(Thinking, "", `{"reasoningContent":{"text":%s}}`, a.Thinking, `{"reasoningContent":{"signature":"c2lnbmF0dXJl"}}`)
	block(Text, "", `{"text":%s}`, a.Text, "")
	block(ToolCall, fmt.Sprintf(`{"toolUse":{"toolUseId":"tooluse_%s","name":"lookup"}}`, a.ID), `{"toolUse":{"input":%s}}`, a.Args, "")
	stop := "end_turn"
	if len(a.Args) > 0 {
		stop = "tool_use"
	}
	return append(out,
		Frame{Marker: true, Data: message("event", "messageStop", fmt.Sprintf(`{"stopReason":%q}`, stop))},
		Frame{Data: message("event", "metadata", fmt.Sprintf(`{"usage":{"inputTokens":%d,"outputTokens":%d,"totalTokens":%d},"metrics":{"latencyMs":1}}`, a.In, a.Out, a.In+a.Out))})
}
