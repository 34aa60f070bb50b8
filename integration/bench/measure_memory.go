package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	peakStreams  = 256
	mostPeak     = 0.7 // of the empty llmd's
	idleStreams  = 10_000
	mostIdle     = 48.0 // KiB a stream
	perConn      = 1000 // streams of a gRPC connection
	imageBytes   = 5 << 20
	images       = 8
	mostImages   = 3.0 // times the images' size
	mib          = 1 << 20
	idleSettling = 3 * time.Second
)

// imageModel answers requests that carry images.
var imageModel = text(10)

// measurePeak is the most memory with many streams at full speed.
func (b *bench) measurePeak(ctx context.Context) error {
	t := table{head: []string{"peak MiB, 256 streams", "chat", "anthropic"}}
	ratios := map[string][]string{}
	peaks := map[string][]float64{}
	for _, sh := range []shape{chat, anthropic} {
		figures := map[string][]float64{}
		for range b.rounds {
			servers, stop, err := b.servers(ctx)
			if err != nil {
				return err
			}
			for _, s := range servers {
				if s.skips(sh, text(1)) {
					continue
				}
				peak, err := s.peakOf(ctx, sh, b.share(peakStreams))
				if err != nil {
					stop()
					return fmt.Errorf("%s: %w", s.name, err)
				}
				figures[s.name] = append(figures[s.name], peak)
			}
			stop()
		}
		for name, f := range figures {
			peaks[name] = append(peaks[name], median(f))
			ratio := medianRatio(f, figures["empty"])
			ratios[name] = append(ratios[name], fmt.Sprintf("%s of empty (%s)", number(ratio), verdict(ratio, mostPeak)))
		}
	}
	for _, name := range b.names() {
		row := []string{name}
		for _, p := range peaks[name] {
			row = append(row, number(p))
		}
		t.add(row...)
	}
	for _, v := range b.llmds {
		t.add(append([]string{v.name + ", at most " + number(mostPeak)}, ratios[v.name]...)...)
	}
	t.print(b.out, "### Peak memory")
	return nil
}

func (s *server) peakOf(ctx context.Context, sh shape, streams int) (float64, error) {
	if _, err := load(ctx, s.client, sh, text(1000), streams, 2*streams); err != nil {
		return 0, err
	}
	bytes, err := s.memoryBytes("VmHWM")
	return float64(bytes) / mib, err
}

// measureIdle is the memory of a stream that waits for its provider.
func (b *bench) measureIdle(ctx context.Context) error {
	// Each stream is a connection of the server's to the mock, and one of the mock's.
	streams := min(b.share(idleStreams), int(openFiles())-500)
	t := table{head: []string{"server", "streams", "KiB a stream", "at most", ""}}
	for _, name := range b.names() {
		if name == "copy" || name == "memory" {
			continue
		}
		s, err := b.start(ctx, name, (streams+perConn-1)/perConn)
		if err != nil {
			return err
		}
		perStream, err := s.idleMemory(ctx, b, streams)
		s.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		row := []string{name, strconv.Itoa(streams), number(perStream / 1024)}
		if s.judged {
			row = append(row, number(mostIdle), verdict(perStream/1024, mostIdle))
		}
		t.add(row...)
	}
	t.print(b.out, "### Memory of an open stream that waits, resident, the client's side left out")
	return nil
}

// idleMemory opens the streams, waits until each has had its first delta, and sees
// how much the process has grown.
func (s *server) idleMemory(ctx context.Context, b *bench, streams int) (float64, error) {
	if err := whole(ctx, s.client, chat, text(10)); err != nil {
		return 0, err
	}
	before, err := s.memoryBytes("VmRSS")
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	first := make(chan struct{}, streams)
	failed := make(chan error, streams)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for i := range streams {
		all.Go(func() {
			err := s.client.stream(ctx, chat, idle(b.number()), onText(func() { first <- struct{}{} }))
			if ctx.Err() == nil {
				failed <- err
			}
		})
		if i%100 == 99 { // a client with ten thousand starts at once measures queues
			if err := await(first, failed, 100); err != nil {
				return 0, err
			}
		}
	}
	if err := await(first, failed, streams%100); err != nil {
		return 0, err
	}
	time.Sleep(idleSettling)
	after, err := s.memoryBytes("VmRSS")
	return float64(after-before) / float64(streams), err
}

func await(first <-chan struct{}, failed <-chan error, n int) error {
	for range n {
		select {
		case <-first:
		case err := <-failed:
			return fmt.Errorf("an idle stream ended: %w", err)
		}
	}
	return nil
}

// measureImages is the peak memory of one request with many large images.
func (b *bench) measureImages(ctx context.Context) error {
	t := table{head: []string{"server", "before, MiB", "peak, MiB", "peak over the images' size", "at most", ""}}
	for _, v := range b.llmds {
		s, err := b.start(ctx, v.name, 1)
		if err != nil {
			return err
		}
		before, err := s.memoryBytes("VmHWM")
		if err == nil {
			err = s.sendImages(ctx)
		}
		var peak int64
		if err == nil {
			peak, err = s.memoryBytes("VmHWM")
		}
		s.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		ratio := float64(peak) / float64(images*imageBytes)
		t.add(v.name, number(float64(before)/mib), number(float64(peak)/mib), number(ratio), number(mostImages), verdict(ratio, mostImages))
	}
	t.print(b.out, fmt.Sprintf("### A request with %d MiB of images, the process's peak", images*imageBytes/mib))
	return nil
}

func (s *server) sendImages(ctx context.Context) error {
	c, ok := s.client.(*grpcClient)
	if !ok {
		return fmt.Errorf("%s takes no images", s.name)
	}
	req := request(chat, imageModel)
	req.RequestId = "images" // whose request is hashed
	user := req.GetGeneration().GetContext().GetMessages()[0].GetUser()
	for range images {
		data := make([]byte, imageBytes)
		copy(data, "\x89PNG\r\n\x1a\n")
		user.Content = append(user.Content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: &llmdv1.ImageContent{
			MimeType: "image/png", Source: &llmdv1.ImageContent_Data{Data: data},
		}}})
	}
	bytes := 0
	if err := c.send(ctx, req, func(piece string) { bytes += len(piece) }); err != nil {
		return err
	}
	if bytes != imageModel.bytes() {
		return fmt.Errorf("%d bytes came", bytes)
	}
	return nil
}
