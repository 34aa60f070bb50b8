package adapters_test

import (
	"encoding/json"
	"testing"

	"github.com/llmd-dev/llmd/adapters"
)

// TestBilled: what hosts say that they billed, in 1e-12 USD; -1 = nothing that is understood.
func TestBilled(t *testing.T) {
	for in, want := range map[string]int64{
		`{"cost":0.00041625,"is_byok":false}`:  416_250_000,
		`{"cost":5.67e-06,"is_byok":false}`:    5_670_000,
		`{"cost":0,"is_byok":false}`:           0,
		`{"cost":0.5}`:                         -1, // whose key paid?
		`{"cost":-1,"is_byok":false}`:          -1,
		`{"cost":null,"is_byok":false}`:        -1,
		`{"cost":1e300,"is_byok":false}`:       -1,
		`{"cost":1e-99999999,"is_byok":false}`: -1,
		`{"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":1}}`:                                                                                   1_050_000_000_000,
		`{"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":null,"upstream_inference_prompt_cost":0.1,"upstream_inference_completions_cost":0.2}}`: 350_000_000_000,
		`{"cost":0.05,"is_byok":true,"cost_details":{"upstream_inference_cost":null,"upstream_inference_input_cost":0.1,"upstream_inference_output_cost":0.2}}`:       350_000_000_000,
		`{"cost":0.05,"is_byok":true}`:                              -1,
		`{"cost":{"input_tokens_cost":1e-05,"total_cost":0.00501}}`: 5_010_000_000,
		`{"cost":{"input_tokens_cost":1e-05}}`:                      -1,
		`{"cost_in_usd_ticks":37756000}`:                            3_775_600_000, // 0.0037756 USD
		`{"cost":0.0000000000014,"is_byok":false}`:                  1,
		`{"cost":0.0000000000015,"is_byok":false}`:                  2,
	} {
		var b adapters.Billed
		if err := json.Unmarshal([]byte(in), &b); err != nil {
			t.Fatal(err)
		}
		c := b.Message()
		if want < 0 != (c == nil) || c != nil && (c.GetTotalPicoUsd() != want || !c.GetFromProvider()) {
			t.Errorf("%s: %v, want %d", in, c, want)
		}
	}
}
