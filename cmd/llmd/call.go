package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/llmd-dev/llmd/adapters/profile"
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
	Prompt []string `arg:"" optional:"" help:"The prompt. What is piped into standard input stands behind it, or is the prompt if this is left out or \"-\"."`

	Addr      string   `help:"Use the llmd that runs there (tcp://host:port or unix:///path) instead of one inside this command." type:"name" placeholder:"ADDRESS"`
	Config    string   `help:"Configuration file (YAML) of the llmd inside this command; default $LLMD_CONFIG, or none." type:"path" placeholder:"FILE"`
	System    string   `help:"System prompt." placeholder:"TEXT"`
	Image     []string `help:"Send an image too; may be repeated." type:"path" placeholder:"FILE" sep:"none"`
	Effort    effort   `help:"Reasoning effort: ${efforts}." aliases:"thinking" placeholder:"EFFORT"`
	Summary   bool     `help:"Ask for a readable summary of the reasoning, where the provider has one."`
	MaxTokens *int32   `help:"The most tokens of the answer, reasoning included." placeholder:"N"`
	JSON      bool     `help:"Print the events as JSON, one a line." name:"json"`

	identityFlags
}

// Run streams one answer: text to standard output, everything about it to
// standard error.
func (c *callCmd) Run(s *session) error {
	generation, err := c.generation(s.stdin)
	if err != nil {
		return err
	}
	conn, closeAll, err := s.reach(c.Addr, c.Config, &c.identityFlags)
	if err != nil {
		return err
	}
	defer closeAll()
	var show shower = newCallPrinter(s)
	if c.JSON {
		show = jsonPrinter{s.stdout}
	}
	return unanswered(c.Addr, follow(s.ctx, llmdv1.NewInferenceServiceClient(conn), generation, show))
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
	if c.MaxTokens != nil {
		if *c.MaxTokens < 1 {
			return nil, &usageError{"--max-tokens: must be at least 1"}
		}
		g.Config = &llmdv1.GenerationConfig{MaxOutputTokens: c.MaxTokens}
	}
	if c.Effort != 0 || c.Summary {
		g.Reasoning = &llmdv1.ReasoningConfig{IncludeSummary: c.Summary, Effort: llmdv1.ReasoningEffort(c.Effort)}
	}
	return g, nil
}

// prompt is what the arguments say and, behind it, what is piped in. A terminal is
// read only if there is nothing else to send.
func (c *callCmd) prompt(stdin io.Reader) (string, error) {
	prompt := strings.Join(c.Prompt, " ")
	if prompt == "-" {
		prompt = ""
	}
	if isTerminal(stdin) && (prompt != "" || len(c.Prompt) == 0 && len(c.Image) > 0) {
		return prompt, nil
	}
	text, err := readInput("standard input", stdin)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(text) {
		return "", &usageError{"standard input is no text in UTF-8; an image goes into --image"}
	}
	piped := strings.TrimRight(string(text), "\r\n")
	switch {
	case prompt != "" && piped != "":
		return prompt + "\n\n" + piped, nil
	case prompt+piped == "" && len(c.Image) == 0:
		return "", &usageError{"there is no prompt: give it as an argument or on standard input"}
	}
	return prompt + piped, nil
}

// effort is a reasoning effort as the command line spells it; 0 = not given.
type effort llmdv1.ReasoningEffort

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *effort) UnmarshalText(text []byte) error {
	for _, known := range knownEfforts() {
		if profile.EffortName(known) == string(text) {
			*e = effort(known)
			return nil
		}
	}
	return errors.New("must be one of " + effortNames())
}

// knownEfforts are all efforts, the smallest first.
func knownEfforts() []llmdv1.ReasoningEffort {
	var all []llmdv1.ReasoningEffort
	for n := range llmdv1.ReasoningEffort_name {
		if e := llmdv1.ReasoningEffort(n); e != llmdv1.ReasoningEffort_REASONING_EFFORT_UNSPECIFIED {
			all = append(all, e)
		}
	}
	slices.Sort(all)
	return all
}

func effortNames() string {
	var names []string
	for _, e := range knownEfforts() {
		names = append(names, profile.EffortName(e))
	}
	return strings.Join(names, ", ")
}

// readImage reads a file and says what it holds, by its bytes or else its name.
func readImage(path string) (*llmdv1.ImageContent, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &usageError{"--image: " + err.Error()}
	}
	defer func() { _ = f.Close() }()
	data, err := readInput(path, f)
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

// readInput reads everything, or nothing: what is too large is not cut off.
func readInput(name string, r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(text) > maxInput {
		err = &usageError{fmt.Sprintf("%s has more than %d MiB", name, maxInput>>20)}
	}
	return text, err
}

func userText(text string) *llmdv1.UserContent {
	return &llmdv1.UserContent{Block: &llmdv1.UserContent_Text{Text: &llmdv1.TextContent{Text: text}}}
}

func userMessage(content ...*llmdv1.UserContent) *llmdv1.Message {
	return &llmdv1.Message{Message: &llmdv1.Message_User{User: &llmdv1.UserMessage{Content: content}}}
}
