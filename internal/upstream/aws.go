package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/llmd-dev/llmd/adapters"
)

// signingName is the service that Bedrock's runtime signs for:
// https://docs.aws.amazon.com/general/latest/gr/bedrock.html.
const signingName = "bedrock"

// AWS signs requests (signature version 4) with credentials of the AWS default
// chain: environment, shared files, single sign-on, web identity, container and
// instance roles. The chain is asked at the first request; what it gives is kept
// until shortly before it expires.
type AWS struct {
	region, profile string
	signer          *v4.Signer

	mu    sync.Mutex
	chain aws.CredentialsProvider // nil until loaded
}

// NewAWS makes credentials for a region; an empty one is the chain's own. profile
// names a profile of the shared files; empty = the default.
func NewAWS(region, profile string) *AWS {
	return &AWS{region: region, profile: profile, signer: v4.NewSigner()}
}

// Describe implements Credentials.
func (a *AWS) Describe() string { return "AWS default chain" }

// Headers implements Credentials.
func (a *AWS) Headers() []string { return []string{"Authorization"} }

// Apply implements Credentials.
func (a *AWS) Apply(ctx context.Context, r *http.Request, body io.WriterTo) error {
	chain, region, err := a.load(ctx)
	if err == nil && region == "" {
		return noCredentials(adapters.ReasonPrecondition, "AWS", "no region is set", nil)
	}
	var keys aws.Credentials
	if err == nil {
		keys, err = chain.Retrieve(ctx)
	}
	if err == nil {
		hash := sha256.New()
		_, _ = body.WriteTo(hash) // a hash takes everything
		err = a.signer.SignHTTP(ctx, keys, r, hex.EncodeToString(hash.Sum(nil)), signingName, region, time.Now())
	}
	if err != nil {
		return noCredentials(adapters.ReasonCredentialsInvalid, "AWS", err.Error(), err)
	}
	return nil
}

// load reads the configuration once; a failure is tried again at the next request.
func (a *AWS) load(ctx context.Context) (aws.CredentialsProvider, string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.chain != nil {
		return a.chain, a.region, nil
	}
	c, err := config.LoadDefaultConfig(ctx, func(o *config.LoadOptions) error {
		o.Region, o.SharedConfigProfile = a.region, a.profile
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	a.chain, a.region = c.Credentials, c.Region
	return a.chain, a.region, nil
}
