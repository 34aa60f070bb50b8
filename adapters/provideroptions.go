package adapters

import "github.com/llmd-dev/llmd/adapters/jsonwire"

// WithProviderOptions lays the caller's options for this provider over a finished
// body. always is an object that they cannot change, such as {"stream":true}: an
// answer that is not streamed would not be read as it comes.
func (c *Call) WithProviderOptions(body jsonwire.Body, always string) (jsonwire.Body, error) {
	provider := c.Model.Provider
	options := c.Generation.GetProviderOptionsJson()[provider]
	if options == "" {
		return body, nil
	}
	text, err := jsonwire.Merge(body.Bytes(), []byte(options))
	if err != nil {
		return jsonwire.Body{}, &FieldError{Field: "generation.provider_options_json[" + provider + "]", Detail: notObject}
	}
	text, err = jsonwire.Merge(text, []byte(always))
	return jsonwire.Body{Text: text}, err
}
