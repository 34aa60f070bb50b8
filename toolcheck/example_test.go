package toolcheck_test

import (
	"errors"
	"fmt"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/toolcheck"
)

func Example() {
	tool, err := toolcheck.Compile(&llmdv1.Tool{
		Name:   "forecast",
		Strict: llmdv1.StrictMode_STRICT_MODE_PREFER,
		ParametersJsonSchema: `{"type":"object","properties":{
			"city":{"type":"string"},"days":{"type":"integer","maximum":10}},"required":["city"]}`,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// A model in strict mode names every property.
	arguments, err := tool.Arguments(&llmdv1.ToolCall{Name: "forecast", ArgumentsJson: `{"city":"Oslo","days":null}`})
	fmt.Println(arguments, err)

	_, err = tool.Arguments(&llmdv1.ToolCall{Name: "forecast", ArgumentsJson: `{"city":"Oslo","days":"many"}`})
	if mismatch, ok := errors.AsType[*toolcheck.ArgumentsError](err); ok {
		for _, p := range mismatch.Problems {
			fmt.Println(p.Pointer, p.Message)
		}
	}
	// Output:
	// {"city":"Oslo"} <nil>
	// /days expected integer, got string
}
