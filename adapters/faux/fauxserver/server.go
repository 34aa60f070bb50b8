package fauxserver

import (
	"encoding/json"
	"io"
	"net/http"
)

// maxBody is the largest request that is read, in bytes.
const maxBody = 64 << 20

// Handler is the provider as an HTTP server: POST /v1/generate.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/generate", serve)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		(&failure{status: http.StatusNotFound, typ: "invalid_request", message: "There is only POST /v1/generate."}).write(w)
	})
	return mux
}

func serve(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	if err != nil {
		f, _ := failureOf("too_large")
		f.write(w)
		return
	}
	w.Header().Set("X-Request-Id", "req_"+name(body, "request"))
	req, steps, f := read(body)
	if f != nil {
		f.write(w)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	p := &player{out: w, req: req, body: body}
	p.play(hr.Context(), steps)
}

// read decides from the body alone what the answer is.
func read(body []byte) (*request, []step, *failure) {
	var req request
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, nil, invalid("the body is not the JSON that was expected: %v", err)
	}
	if f := req.validate(); f != nil {
		return nil, nil, f
	}
	steps, f := req.answer()
	if f != nil {
		return nil, nil, f
	}
	if len(steps) > 0 && steps[0].Error != "" {
		if f, _ := failureOf(steps[0].Error); f.status != 0 {
			return nil, nil, &f
		}
	}
	return &req, steps, nil
}
