package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

const (
	// abortPatience is how long the receipt of an interrupted call is waited for.
	abortPatience = 3 * time.Second
	// maxInput bounds what is read from files and standard input: the largest
	// request that llmd takes by default.
	maxInput = 64 << 20
)

type callCmd struct {
	Model  string   `arg:"" help:"The model: provider/model-id, or an alias. \"llmd models\" lists them."`
	Prompt []string `arg:"" optional:"" help:"The prompt; read from standard input if it is left out or \"-\"."`

	Addr      string   `help:"Use the llmd that runs there (tcp://host:port or unix:///path) instead of one inside this command." placeholder:"ADDRESS"`
	Config    string   `help:"Configuration file (YAML) of the llmd inside this command; default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
	System    string   `help:"System prompt." placeholder:"TEXT"`
	Image     []string `help:"Send an image too; may be repeated." type:"path" placeholder:"FILE" sep:"none"`
	Effort    string   `help:"Reasoning effort: none, minimal, low, medium, high, xhigh or max." aliases:"thinking" enum:",none,minimal,low,medium,high,xhigh,max" default:"" placeholder:"EFFORT"`
	Summary   bool     `help:"Ask for a readable summary of the reasoning, where the provider has one."`
	MaxTokens int32    `help:"The most tokens of the answer, reasoning included." placeholder:"N"`
	JSON      bool     `help:"Print the events as JSON, one a line." name:"json"`
}

// Run streams one answer: text to standard output, everything about it to
// standard error.
func (c *callCmd) Run(s *session) error {
	generation, err := c.generation(s.stdin)
	if err != nil {
		return err
	}
	conn, closeAll, err := s.reach(c.Addr, c.Config)
	if err != nil {
		return err
	}
	defer closeAll()
	var show shower = newCallPrinter(s)
	if c.JSON {
		show = jsonPrinter{s.stdout}
	}
	return follow(s.ctx, llmdv1.NewInferenceServiceClient(conn), generation, show)
}

// shower prints events as they come.
type shower interface {
	show(*llmdv1.StreamResponse) error
	// close ends what is open on the output; a failed call may stop anywhere.
	close()
}

// follow shows one stream to its end. When ctx ends it asks llmd to abort the
// response and goes on reading: the receipt comes as the last event.
func follow(ctx context.Context, client llmdv1.InferenceServiceClient, g *llmdv1.Generation, out shower) error {
	defer out.close()
	callCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	// An id of our own, so that the response can be aborted before it has started.
	id := rand.Text()
	stream, err := client.Stream(callCtx, &llmdv1.StreamRequest{Generation: g, RequestId: id})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { abort(callCtx, cancel, client, id) })()
	for {
		e, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF) && ctx.Err() != nil:
			return exitCodeError(exitInterrupted)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() != nil && status.Code(err) == codes.Canceled:
			return exitCodeError(exitInterrupted)
		case err != nil:
			return err
		}
		if err := out.show(e); err != nil {
			return err
		}
	}
}

// abort asks for the end of a response; if that does not come, cancel ends the
// call without a receipt.
func abort(ctx context.Context, cancel context.CancelFunc, client llmdv1.InferenceServiceClient, requestID string) {
	late := time.AfterFunc(abortPatience, cancel)
	context.AfterFunc(ctx, func() { late.Stop() })
	_, err := client.Abort(ctx, &llmdv1.AbortRequest{
		Target: &llmdv1.AbortRequest_RequestId{RequestId: requestID}, Reason: "interrupted",
	})
	// An id that is not known yet is remembered: the stream will start aborted.
	if err != nil && status.Code(err) != codes.NotFound {
		cancel()
	}
}

// generation is the request that the command line describes.
func (c *callCmd) generation(stdin io.Reader) (*llmdv1.Generation, error) {
	prompt, err := c.prompt(stdin)
	if err != nil {
		return nil, err
	}
	var content []*llmdv1.UserContent
	for _, path := range c.Image {
		image, err := readImage(path)
		if err != nil {
			return nil, err
		}
		content = append(content, &llmdv1.UserContent{Block: &llmdv1.UserContent_Image{Image: image}})
	}
	if prompt != "" {
		content = append(content, userText(prompt))
	}
	g := &llmdv1.Generation{
		Model:   c.Model,
		Context: &llmdv1.Context{SystemPrompt: c.System, Messages: []*llmdv1.Message{userMessage(content...)}},
	}
	if c.MaxTokens != 0 {
		g.Config = &llmdv1.GenerationConfig{MaxOutputTokens: new(c.MaxTokens)}
	}
	if c.Effort != "" || c.Summary {
		g.Reasoning = &llmdv1.ReasoningConfig{IncludeSummary: c.Summary}
		if c.Effort != "" {
			g.Reasoning.Effort = llmdv1.ReasoningEffort(llmdv1.ReasoningEffort_value["REASONING_EFFORT_"+strings.ToUpper(c.Effort)])
		}
	}
	return g, nil
}

func (c *callCmd) prompt(stdin io.Reader) (string, error) {
	if prompt := strings.Join(c.Prompt, " "); prompt != "" && prompt != "-" {
		return prompt, nil
	}
	if len(c.Prompt) == 0 && len(c.Image) > 0 {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxInput))
	if err != nil {
		return "", err
	}
	prompt := strings.TrimRight(string(text), "\r\n")
	if prompt == "" {
		return "", &usageError{"there is no prompt: give it as an argument or on standard input"}
	}
	return prompt, nil
}

// readImage reads a file and says what it holds, by its bytes or else its name.
func readImage(path string) (*llmdv1.ImageContent, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &usageError{"--image: " + err.Error()}
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxInput))
	if err != nil {
		return nil, &usageError{"--image: " + err.Error()}
	}
	kind := http.DetectContentType(data)
	if !strings.HasPrefix(kind, "image/") {
		kind = cmp.Or(mime.TypeByExtension(filepath.Ext(path)), kind)
	}
	if kind, _, _ = strings.Cut(kind, ";"); !strings.HasPrefix(kind, "image/") {
		return nil, &usageError{"--image: " + path + " is no image (" + kind + ")"}
	}
	return &llmdv1.ImageContent{Source: &llmdv1.ImageContent_Data{Data: data}, MimeType: kind}, nil
}

func userText(text string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: text}}}
}

func userMessage(content ...*llmdv1.UserContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: content}}}
}
