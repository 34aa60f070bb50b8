package adapters

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// WithProviderOptions lays the caller's options for this provider over a finished
// body. always is an object that they cannot change, such as {"stream":true}: an
// answer that is not streamed would not be read as it comes.
func (c *Call) WithProviderOptions(body []byte, always string) ([]byte, error) {
	provider := c.Model.Provider
	options := c.Generation.GetProviderOptionsJson()[provider]
	if options == "" {
		return body, nil
	}
	body, err := jsonwire.Merge(body, []byte(options))
	if err != nil {
		return nil, &FieldError{Field: "generation.provider_options_json[" + provider + "]", Detail: notObject}
	}
	return jsonwire.Merge(body, []byte(always))
}
